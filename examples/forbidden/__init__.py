"""Agents that must never earn what an honest one earns: each fails in a way of its own."""
