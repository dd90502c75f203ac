"""Agents that must never earn what an honest one earns; tests/lab/test_example_agents.py says what denies it to each."""
