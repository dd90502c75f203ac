"""The only room with pytest: hooks, items, fixtures and the recorder of a session; no judging and no rendering."""
