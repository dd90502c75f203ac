"""Holds the ways in which a scripted session plays an attack; none of them may name a scenario or an incident."""
