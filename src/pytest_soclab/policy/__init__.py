"""From input to decision: how a directory of Rego is read, and the engines; no call is executed here."""
