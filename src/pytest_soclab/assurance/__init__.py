"""Evidence to level: intervals, units, gates, ladder, and results put together; pure functions, no files."""
