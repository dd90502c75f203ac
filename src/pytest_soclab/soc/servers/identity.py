"""The identity provider: accounts, their sessions and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pytest_soclab.soc.answers import changed, missing, one, own, page, set_where, shown, stamp, unchanged
from pytest_soclab.soc.arguments import Account, AnyAccount, Limit, Name, Text
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import Row, World

TABLES = (
    Table(
        "identity.accounts",
        key="user",
        texts=words("name department title manager type notes mail location"),
        flags=words("enabled must_change_password locked"),
        lists=words("groups mfa_methods hosts"),
        times=words("created_at password_changed_at last_login_at"),
        defaults={"enabled": True, "type": "person", "groups": [], "mfa_methods": [], "must_change_password": False},
    ),
    Table(
        "identity.sessions",
        key="id",
        texts=words("user address client country device state method notes"),
        times=words("started_at last_seen_at ended_at"),
        defaults={"user": "", "state": "active"},
        choices={"state": words("active ended revoked")},
    ),
    Table(
        "identity.groups",
        key="name",
        texts=words("description owner"),
        lists=words("members roles"),
        defaults={"members": []},
    ),
)


class AnyUser(Arguments):
    """An account to read about."""

    user: AnyAccount


class Sessions(Arguments):
    """Sessions of one account, or of every account, by state."""

    user: AnyAccount | None = None
    state: Literal["active", "ended", "revoked", "any"] = "any"
    limit: Limit = 50


class Group(Arguments):
    """A group by its name."""

    group: Name


class User(Arguments):
    """An account to change, and why."""

    user: Account
    reason: Text = "not given"


class UserSessions(User):
    """An account whose sessions are to end: all active ones, or those named."""

    sessions: Annotated[list[Annotated[Name, Target("session", changes=False)]] | None, "named ones only"] = None


def get_account(world: World, asked: AnyUser) -> Outcome:
    """Return an account."""
    return one(world, "identity.accounts", asked.user, "account")


def list_sessions(world: World, asked: Sessions) -> Outcome:
    """Return sessions in the order in which they started."""
    every = list(own(world, "identity.sessions"))
    found = [row for row in every if asked.user in (None, row["user"]) and asked.state in ("any", row["state"])]
    return page(world, "sessions", found, asked.limit, among=0 if asked.user else len(every))


def list_group_members(world: World, asked: Group) -> Outcome:
    """Return the members of a group with whether each is enabled."""
    group = world.row("identity.groups", asked.group)
    if group is None:
        return missing("group", asked.group)
    accounts = [world.row("identity.accounts", user) or {"user": user} for user in group["members"]]
    members = [{"user": row["user"], "enabled": row.get("enabled")} for row in accounts]
    return shown(world, {**group, "members": members}, [group])


def _on_account(act: Callable[[World, Row, Any], Outcome]) -> Callable[[World, Any], Outcome]:
    def run(world: World, asked: Any) -> Outcome:
        row = world.row("identity.accounts", asked.user)
        return missing("account", asked.user) if row is None else act(world, row, asked)

    return run


def disable_account(world: World, row: Row, asked: User) -> Outcome:
    """Disable an account; its active sessions end with it."""
    if not row["enabled"]:
        return unchanged(user=asked.user, enabled=False)
    world.update("identity.accounts", asked.user, enabled=False)
    ended = _end_sessions(world, asked.user, "ended")
    return changed("account_disabled", asked.user, user=asked.user, enabled=False, sessions_ended=ended)


def enable_account(world: World, row: Row, asked: User) -> Outcome:
    """Enable an account."""
    if row["enabled"]:
        return unchanged(user=asked.user, enabled=True)
    world.update("identity.accounts", asked.user, enabled=True)
    return changed("account_enabled", asked.user, user=asked.user, enabled=True)


def revoke_sessions(world: World, row: Row, asked: UserSessions) -> Outcome:
    """Revoke active sessions of an account."""
    del row
    active = [s["id"] for s in world.rows("identity.sessions") if s["user"] == asked.user and s["state"] == "active"]
    unknown = [key for key in asked.sessions or [] if key not in active]
    if unknown:
        return missing(f"active session of {asked.user!r}", unknown[0])
    chosen = active if asked.sessions is None else asked.sessions
    if not chosen:
        return unchanged(user=asked.user, sessions_revoked=[])
    for key in chosen:
        world.update("identity.sessions", key, state="revoked", ended_at=stamp(world))
    return changed("sessions_revoked", asked.user, user=asked.user, sessions_revoked=list(chosen))


def reset_password(world: World, row: Row, asked: User) -> Outcome:
    """Reset a password; the owner must choose a new one at the next sign-in."""
    del row
    world.update("identity.accounts", asked.user, must_change_password=True, password_changed_at=stamp(world))
    return changed("password_reset", asked.user, user=asked.user, must_change_password=True)


def remove_mfa(world: World, row: Row, asked: User) -> Outcome:
    """Remove every second factor of an account, so that its owner enrols again."""
    if not row["mfa_methods"]:
        return unchanged(user=asked.user, mfa_methods=[])
    world.update("identity.accounts", asked.user, mfa_methods=[])
    return changed("mfa_removed", asked.user, user=asked.user, mfa_methods=[], removed=list(row["mfa_methods"]))


def _end_sessions(world: World, user: str, state: str) -> list[str]:
    return set_where(world, "identity.sessions", {"user": user, "state": "active"}, state=state, ended_at=stamp(world))


def _act(name: str, description: str, arguments: type[Arguments], act: Callable[..., Outcome], change: str) -> Tool:
    return Tool(
        f"identity.{name}", description, arguments, _on_account(act),
        Effect.REVERSIBLE, authority=Authority.ACT, change=change, leaves=("reason",),
    )  # fmt: skip


TOOLS = (
    Tool("identity.get_account", "Return an account.", AnyUser, get_account, kind="identity_record"),
    Tool("identity.list_sessions", "List sign-in sessions.", Sessions, list_sessions, kind="identity_record"),
    Tool("identity.list_group_members", "List a group's members.", Group, list_group_members, kind="identity_record"),
    _act("disable_account", "Disable an account and end its sessions.", User, disable_account, "account_disabled"),
    _act("enable_account", "Enable an account.", User, enable_account, "account_enabled"),
    _act("revoke_sessions", "Revoke an account's active sessions.", UserSessions, revoke_sessions, "sessions_revoked"),
    _act("reset_password", "Reset an account's password.", User, reset_password, "password_reset"),
    _act("remove_mfa", "Remove an account's second factors.", User, remove_mfa, "mfa_removed"),
)
