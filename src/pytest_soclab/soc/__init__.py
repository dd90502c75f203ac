"""The simulated SOC: its world, tool servers and search; it knows no policy and no agent."""
