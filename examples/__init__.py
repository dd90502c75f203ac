"""Agents to learn from: one that works, and those that must never earn a level."""
