"""Deriving the arm without lookups from stored settings lives here; running it may not."""
