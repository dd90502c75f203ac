# What a call must rest on: evidence that exists, is the incident's own, and suffices.
package soclab.gateway

# METADATA
# title: The cited evidence does not exist
# description: Denies a call that cites evidence which the transcript does not hold.
reasons contains "unverified_evidence" if not evidence_exists

evidence_exists if input.unknown_evidence == []

# METADATA
# title: The cited evidence is of another incident
# description: Denies a call that cites records which belong to another incident.
reasons contains "foreign_evidence" if not evidence_own

evidence_own if {
	every piece in evidence { piece.incident == incident.id }
}

# METADATA
# title: The state change cites too little evidence
# description: Denies a state change that cites fewer pieces or kinds of evidence than its effect needs.
reasons contains "insufficient_evidence" if {
	changes_state
	not evidence_suffices
}

evidence_suffices if reached(settings.evidence[tool.effect])

reached(least) if {
	count(cited_pieces) >= least.pieces
	count(cited_kinds) >= least.kinds
}

cited_pieces := {piece.id | some piece in evidence}

cited_kinds := {piece.kind | some piece in evidence}

# METADATA
# title: The conclusion is not supported
# description: Denies clearing or accusing somebody without the evidence that a conclusion needs.
reasons contains "unsupported_conclusion" if {
	not observes
	not conclusion_cautious
	not conclusion_supported
}

conclusion_cautious if {
	every value in stated { value in settings.conclusions.cautious }
}

stated := {value |
	some name in settings.conclusions.arguments
	value := input.arguments[name]
}

conclusion_supported if reached(settings.conclusions.evidence)
