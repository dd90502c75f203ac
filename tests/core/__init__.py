"""Tests of the core: what decides whether an agent may act, and what could make a wrong answer look right."""
