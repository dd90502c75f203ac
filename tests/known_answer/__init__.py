"""Tests of the known-answer gate."""
