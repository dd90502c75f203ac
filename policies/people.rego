# Who stands in what others read: a text that names an account says what that account is to the case.
package soclab.gateway

# METADATA
# title: An account is named without a role
# description: Denies a note whose text names an account that it neither accuses, nor clears, nor lists as affected or mentioned.
reasons contains "account_without_role" if {
	not observes
	not roles_given
}

roles_given if input.people.without_role == []
