"""Reads stored sessions back: verify, rebuild, merge, compare; nothing here runs a trial."""
