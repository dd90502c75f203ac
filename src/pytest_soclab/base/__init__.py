"""Errors, time and randomness, bundled files, settings; imports nothing of ours."""
