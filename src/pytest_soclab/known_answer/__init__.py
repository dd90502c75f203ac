"""The known-answer gate lives here: reading scored runs, comparing arms, printing; trials and pytest may not."""
