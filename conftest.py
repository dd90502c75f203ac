"""Loads pytest's own plugin-testing fixture for `tests/`."""

pytest_plugins = ["pytester"]
