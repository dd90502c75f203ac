"""How agents reach the gateway: scripted, in process, and over a wire; no decision is taken here."""
