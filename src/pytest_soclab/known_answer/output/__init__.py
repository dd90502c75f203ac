"""Text, Markdown and JSON of a finished result live here; computing a result may not."""
