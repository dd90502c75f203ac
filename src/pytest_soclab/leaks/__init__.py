"""Secrets in what leaves the SOC: `egress` for the gateway, a detector for the judge; neither imports the other."""
