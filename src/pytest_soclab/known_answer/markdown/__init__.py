"""Markdown read into blocks, tables and plain text lives here; nothing that knows an item or a verdict may."""
