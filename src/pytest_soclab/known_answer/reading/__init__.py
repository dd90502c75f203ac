"""One reader for each form of scored runs lives here; comparing runs, and evidence beside them, may not."""
