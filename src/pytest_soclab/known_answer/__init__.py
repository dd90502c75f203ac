"""Scored runs to a gate: reads pages, compares arms, tells analysis from lookup; no pytest, no trial."""
