"""From a proposal to its execution: facts, decision, approval, grant; no verdict on the agent is taken here."""
