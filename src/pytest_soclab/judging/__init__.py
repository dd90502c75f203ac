"""Reads a finished transcript and says what happened; never acts, and shares no code with the controls it judges."""
