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
# title: The state change rests on too little evidence
# description: >-
#   Denies a state change unless what the agent was handed in this trial names each of its targets, in as many pieces and
#   kinds as the effect needs. Whether it cited them is for the report to say.
reasons contains "insufficient_evidence" if {
	changes_state
	not evidence_suffices
}

evidence_suffices if {
	least := settings.evidence[tool.effect]
	every target in targets { grounded(target, least_of(target, least)) }
}

least_of(target, least) := least if target.changes == true

# Where the target is (its host, its mailbox) has to be seen once.
least_of(target, _) := settings.evidence_of_place if target.changes == false

grounded(target, least) if {
	pieces := [piece | some piece in seen_pieces; speaks_of(piece, target)]
	count(pieces) >= least.pieces
	count({piece.kind | some piece in pieces}) >= least.kinds
	count({piece.kind | some piece in pieces; first_hand(piece, target)}) >= least.first_hand
}

seen_pieces := [piece | some piece in input.grounds.seen; piece.incident == incident.id]

speaks_of(piece, target) if target.value in piece.names

speaks_of(piece, target) if {
	target.type in settings.evidence_unnamed_types
	count(piece.kind) > 0
}

# What anybody may have written counts beside a record, but never alone, except about the record itself.
first_hand(piece, _) if not piece.kind in settings.testimony_kinds

first_hand(piece, target) if target.type in settings.testimony_of[piece.kind]

# METADATA
# title: The conclusion is not supported
# description: >-
#   Denies clearing or accusing somebody, and putting a case away, unless evidence of as many kinds as a conclusion needs
#   names each account and record that it is about.
reasons contains "unsupported_conclusion" if {
	not observes
	not conclusion_cautious
	not conclusion_supported
}

conclusion_cautious if {
	verdict_cautious
	nobody_judged
}

verdict_cautious if {
	not tool.change in settings.conclusions.changes
	every value in stated { value in settings.conclusions.cautious }
}

stated := {value |
	some name in settings.conclusions.arguments
	value := input.arguments[name]
}

nobody_judged if count(judged) == 0

judged := {{"type": "account", "value": name} |
	some role in settings.conclusions.roles
	some name in input.people[role]
}

conclusion_supported if {
	roles_known
	every account in judged { grounded(account, settings.conclusions.evidence) }
	case_supported
}

roles_known if is_object(input.people)

case_supported if verdict_cautious

case_supported if {
	count(put_away) > 0
	every target in put_away { grounded(target, settings.conclusions.evidence) }
}

put_away := [target | some target in targets; target.type in settings.incident_types]
