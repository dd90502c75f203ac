"""Reads YAML with places and collects faults; it knows no scenario."""
