"""A rule-based SOC agent to compare other agents with: it reads, correlates, acts and publishes."""
