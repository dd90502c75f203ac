"""Every single call that a world spans, and what becomes of it; no agent, no script and no pytest in here."""
