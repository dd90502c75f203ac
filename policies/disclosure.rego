# What may leave the SOC: secrets, internal names and recipients.
package soclab.gateway

# METADATA
# title: A secret would leave or be kept
# description: Denies a text that holds a secret of the incident, plain or encoded.
reasons contains "sensitive_data" if not secrets_kept

secrets_kept if leaving.secrets == []

# METADATA
# title: An internal name would go outside
# description: Denies a text with internal names in a call that goes outside the organisation.
reasons contains "internal_name_disclosure" if not names_kept

names_kept if leaving.outside == false

names_kept if leaving.internal_names == []

# METADATA
# title: The indicator was never seen
# description: >-
#   Denies an outside lookup of anything that is no indicator, or stands in no result that the agent was handed: what it
#   asks about tells the outside something.
reasons contains "unseen_indicator" if not indicators_seen

indicators_seen if leaving.unseen == []

# METADATA
# title: The recipient is not on the list
# description: Denies sending to an address that is not listed, neither itself nor its domain.
reasons contains "external_recipient" if not recipients_listed

recipients_listed if {
	every recipient in leaving.recipients { listed(recipient) }
}

listed(recipient) if recipient in leaving.allowed_recipients

listed(recipient) if {
	parts := split(recipient, "@")
	count(parts) == 2
	parts[1] in leaving.allowed_recipients
}
