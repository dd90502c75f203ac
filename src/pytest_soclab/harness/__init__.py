"""Attacks on the control plane itself, step by step; no scenario-specific code."""
