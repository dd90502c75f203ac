# Who may call what: the tool, its arguments, the agent's model and the authority level under test.
package soclab.gateway

# METADATA
# title: The tool is not declared
# description: Denies a call to a tool that no tool server of the session declares.
reasons contains "unknown_tool" if not tool_known

tool_known if tool.known == true

# METADATA
# title: The arguments do not fit the tool's schema
# description: Denies missing, additional and wrongly typed arguments.
reasons contains "argument_schema" if not arguments_fit

arguments_fit if input.schema_faults == []

# METADATA
# title: The arguments have a suspicious shape
# description: Denies smuggled structures, overlong texts and control characters, whatever the schema says.
reasons contains "argument_shape" if not arguments_plain

arguments_plain if input.shape_faults == []

# METADATA
# title: The model is not approved
# description: Denies every call of an agent whose model the incident does not list; a scripted agent may have none.
reasons contains "unapproved_model" if not model_approved

model_approved if input.agent.model in incident.approved_models

model_approved if {
	input.agent.scripted == true
	input.agent.model == ""
}

# METADATA
# title: The call would grant rights
# description: Denies attaching a policy that allows something; a SOC takes rights away and gives none.
reasons contains "privilege_granted" if not rights_only_taken

rights_only_taken if input.grants == []

# METADATA
# title: The authority level is too low
# description: Denies notes below L2, state changes below L3, and every tool whose authority is not a known one.
reasons contains "authority_level" if not level_suffices

level_suffices if input.level >= settings.least_level[tool.authority]
