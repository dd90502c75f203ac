"""What every reader and every comparison shares lives here: words, keys, runs, opening files; no reader may."""
