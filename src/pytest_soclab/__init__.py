"""Evidence for what an AI agent in a SOC may do, as pytest items."""

__version__ = "0.1.0"
