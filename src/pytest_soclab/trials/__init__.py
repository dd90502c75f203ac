"""One trial end to end, what a process shares between trials, and the self-check; no verdict is decided here."""
