"""Which evidence credited an item lives here, read from the stored run; verdicts are never changed here."""
