"""Scenario files to models, and the one owner of the corpus; no trial runs here."""
