# When a state change may run: degraded telemetry stops every change; what runs without a human is listed and small.
package soclab.gateway

# METADATA
# title: Telemetry is degraded
# description: Denies every state change while the incident's telemetry is known to be incomplete.
reasons contains "degraded_mode" if {
	changes_state
	not telemetry_complete
}

telemetry_complete if incident.degraded == false

# METADATA
# title: The change may run unattended
# description: Holds at L5 for a reversible, low-risk change of one small known target that the alert itself names; any other asks.
unattended if {
	input.level == 5
	tool.effect == "reversible"
	tool.change in settings.unattended.changes
	count(targets) == 1
	every target in targets { low_risk(target) }
}

low_risk(target) if {
	target.in_scope == true
	expected(target)
	target.size <= settings.unattended.addresses
	described(target)
}

expected(target) if target.alerted == true

# A new thing of such a type hits nobody; one that exists is as it is because somebody decided so.
expected(target) if {
	target.type in settings.unattended.unalerted_types
	target.declared == false
}

described(target) if target.declared == true

described(target) if not target.type in settings.unattended.declared_types
