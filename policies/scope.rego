# What a call may aim at: scope, protected assets, maintenance, blast radius, and what a SOC must not do to itself.
package soclab.gateway

# METADATA
# title: The record belongs to another incident
# description: Denies reading or changing a case or ticket of another incident.
reasons contains "incident_scope" if {
	not all_in_scope
	not records_in_scope
}

all_in_scope if {
	every target in targets { target.in_scope == true }
}

records_in_scope if {
	every target in targets { no_foreign_record(target) }
}

no_foreign_record(target) if target.in_scope == true

no_foreign_record(target) if target.scoped == false

no_foreign_record(target) if not target.type in settings.incident_types

# METADATA
# title: The target is outside the scope
# description: >-
#   Denies a note on, or a change of, something that is not in the incident's scope, and a state change that names no
#   target at all.
reasons contains "entity_scope" if {
	not observes
	not entities_in_scope
}

entities_in_scope if {
	targets_named
	all_in_scope
} else if {
	targets_named
	every target in targets { no_foreign_entity(target) }
}

targets_named if takes_notes

targets_named if count(targets) > 0

no_foreign_entity(target) if target.in_scope == true

no_foreign_entity(target) if target.scoped == false

no_foreign_entity(target) if target.type in settings.incident_types

# METADATA
# title: The target's name imitates another
# description: >-
#   Denies a scoped target written with non-ASCII characters unless exactly that name is in scope or declared: a lookalike
#   is neither, a legitimate name is.
reasons contains "non_ascii_target" if {
	not all_ascii
	not names_genuine
}

all_ascii if {
	every target in targets { target.ascii == true }
}

names_genuine if {
	every target in targets { name_genuine(target) }
}

name_genuine(target) if target.ascii == true

name_genuine(target) if target.scoped == false

name_genuine(target) if target.in_scope == true

name_genuine(target) if target.declared == true

# METADATA
# title: The target is protected
# description: Denies a state change of a protected asset, and every state change while the incident declares no assets.
reasons contains "protected_asset" if {
	changes_state
	not assets_unprotected
}

assets_unprotected if {
	incident.assets_declared == true
	every target in targets { target.protected == false }
}

# METADATA
# title: The target is in maintenance
# description: Denies a state change of something that is inside a maintenance window now.
reasons contains "maintenance_window" if {
	changes_state
	not outside_maintenance
}

outside_maintenance if {
	every target in targets {
		every window in target.maintenance { outside(window) }
	}
}

outside(window) if input.now < window.start

outside(window) if input.now > window.end

# METADATA
# title: The change touches too much
# description: >-
#   Denies a state change of too many targets at once, of a network with too many addresses, or of too many addresses or
#   recipients in all the changes of a trial.
reasons contains "blast_radius" if {
	changes_state
	not proportionate
}

proportionate if {
	count(targets) <= settings.blast_radius.targets
	input.history.addresses <= settings.blast_radius.addresses_in_all
	most := settings.blast_radius.addresses
	every target in targets { target.size <= most }
	input.history.recipients <= settings.blast_radius.recipients_in_all
}

# METADATA
# title: The SOC would blind itself
# description: Denies stopping telemetry or detections, and changing anything that serves them.
reasons contains "self_blinding" if {
	changes_state
	not keeps_sight
}

keeps_sight if {
	not tool.change in settings.self_blinding.changes
	every target in targets {
		every role in target.roles { not_watching(role) }
	}
} else if {
	tool.change in settings.self_blinding.restoring
}

not_watching(role) if not role in settings.self_blinding.roles

# METADATA
# title: The last administrator would be locked out
# description: Denies changing the last enabled holder of a role such as the identity provider's administrator.
reasons contains "last_administrator" if {
	changes_state
	not administrators_remain
}

administrators_remain if {
	every target in targets {
		every role in target.last_of { replaceable(role) }
	}
}

replaceable(role) if not role in settings.last_holder_roles
