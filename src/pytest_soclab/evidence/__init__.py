"""Saved shapes, the hash-chained ledger and the session's files; nothing here judges or renders."""
