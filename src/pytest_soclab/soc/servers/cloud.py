"""The cloud account: access keys and what they did, instances, storage buckets, tags and attached policies."""

from __future__ import annotations

from typing import Annotated, Any

from pytest_soclab.soc.answers import changed, missing, one, own, page, shown, stamp, unchanged
from pytest_soclab.soc.arguments import Account, AnyAccount, Limit, Name, Text
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool, failed
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import World

TABLES = (
    Table(
        "cloud.keys",
        key="id",
        texts=words("principal status description last_used_from last_used_service"),
        times=words("created_at last_used_at"),
        defaults={"principal": "", "status": "active"},
        choices={"status": words("active inactive")},
    ),
    Table(
        "cloud.activity",
        key="id",
        texts=words("key operation service resource address user_agent status region"),
        times=words("at"),
        defaults={"key": "", "operation": "", "status": "Success"},
    ),
    Table(
        "cloud.instances",
        key="id",
        texts=words("name type state region address image owner launched_by notes"),
        times=words("launched_at"),
        defaults={"state": "running"},
        choices={"state": words("running stopped terminated")},
    ),
    Table(
        "cloud.buckets",
        key="name",
        texts=words("region owner classification notes"),
        flags=words("public"),
        numbers=words("objects bytes"),
        times=words("created_at"),
        defaults={"public": False},
    ),
    Table(
        "cloud.tags", key="id", texts=words("resource name value"), defaults={"resource": "", "name": "", "value": ""}
    ),
    Table(
        "cloud.principals",
        key="name",
        texts=words("type description"),
        lists=words("policies"),
        defaults={"policies": []},
    ),
    Table("cloud.policies", key="name", texts=words("description effect"), lists=words("actions")),
)

AnyKey = Annotated[Name, Target("key", scoped=False)]
AnyInstance = Annotated[Name, Target("instance", scoped=False)]


class KeyList(Arguments):
    """The keys of a principal, or all."""

    principal: AnyAccount | None = None


class KeyActivity(Arguments):
    """What a key was used for."""

    key: AnyKey
    limit: Limit = 50


class AnyInstanceArguments(Arguments):
    """An instance to read about."""

    instance: AnyInstance


class Tags(Arguments):
    """A resource (instance, bucket or key) whose tags are asked for."""

    resource: Name


class Principal(Arguments):
    """A principal to read about."""

    principal: AnyAccount


class KeyArguments(Arguments):
    """A key to change, and why."""

    key: Annotated[Name, Target("key")]
    reason: Text = "not given"


class InstanceArguments(Arguments):
    """An instance to change, and why."""

    instance: Annotated[Name, Target("instance")]
    reason: Text = "not given"


class BucketArguments(Arguments):
    """A bucket to change, and why."""

    bucket: Annotated[Name, Target("bucket")]
    reason: Text = "not given"


class PolicyArguments(Arguments):
    """A permission policy to attach to a principal, or to detach from it."""

    principal: Account
    policy: Name
    reason: Text = "not given"


def list_keys(world: World, asked: KeyList) -> Outcome:
    """Return access keys without their secrets."""
    every = list(own(world, "cloud.keys"))
    found = [row for row in every if asked.principal in (None, row["principal"])]
    return page(world, "keys", found, among=0 if asked.principal else len(every))


def get_key_activity(world: World, asked: KeyActivity) -> Outcome:
    """Return the calls made with a key, oldest first."""
    if world.row("cloud.keys", asked.key) is None:
        return missing("key", asked.key)
    found = [row for row in own(world, "cloud.activity") if row["key"] == asked.key]
    return page(world, "activity", found, asked.limit)


def describe_instance(world: World, asked: AnyInstanceArguments) -> Outcome:
    """Return an instance with its tags."""
    row = world.row("cloud.instances", asked.instance)
    if row is None:
        return missing("instance", asked.instance)
    return shown(world, {**row, "tags": _tags(world, asked.instance)}, [row])


def list_instances(world: World, asked: Arguments) -> Outcome:
    """Return every instance."""
    del asked
    return page(world, "instances", own(world, "cloud.instances"))


def list_buckets(world: World, asked: Arguments) -> Outcome:
    """Return every storage bucket."""
    del asked
    return page(world, "buckets", own(world, "cloud.buckets"))


def get_tags(world: World, asked: Tags) -> Outcome:
    """Return the tags of a resource; one without tags has none."""
    tags = _tags(world, asked.resource)
    return shown(world, {"resource": asked.resource, "tags": tags}, [{"resource": asked.resource}] if tags else [])


def _tags(world: World, resource: str) -> list[dict[str, Any]]:
    return [
        {"name": row["name"], "value": row["value"]}
        for row in own(world, "cloud.tags")
        if row["resource"] == resource
    ]  # fmt: skip


def get_principal(world: World, asked: Principal) -> Outcome:
    """Return a principal and the policies attached to it."""
    return one(world, "cloud.principals", asked.principal, "principal")


def deactivate_key(world: World, asked: KeyArguments) -> Outcome:
    """Deactivate a key; it can be activated again."""
    row = world.row("cloud.keys", asked.key)
    if row is None:
        return missing("key", asked.key)
    if row["status"] == "inactive":
        return unchanged(key=asked.key, status="inactive")
    world.update("cloud.keys", asked.key, status="inactive", deactivated_at=stamp(world))
    return changed("key_deactivated", asked.key, key=asked.key, status="inactive")


def activate_key(world: World, asked: KeyArguments) -> Outcome:
    """Activate a key."""
    row = world.row("cloud.keys", asked.key)
    if row is None:
        return missing("key", asked.key)
    if row["status"] == "active":
        return unchanged(key=asked.key, status="active")
    world.update("cloud.keys", asked.key, status="active")
    return changed("key_activated", asked.key, key=asked.key, status="active")


def delete_key(world: World, asked: KeyArguments) -> Outcome:
    """Delete a key for good."""
    if world.row("cloud.keys", asked.key) is None:
        return missing("key", asked.key)
    world.remove("cloud.keys", asked.key)
    return changed("key_deleted", asked.key, key=asked.key, deleted=True)


def stop_instance(world: World, asked: InstanceArguments) -> Outcome:
    """Stop a running instance; its disks stay."""
    return _instance_becomes(world, asked.instance, "stopped", from_states=("running",))


def terminate_instance(world: World, asked: InstanceArguments) -> Outcome:
    """Terminate an instance and delete its disks."""
    return _instance_becomes(world, asked.instance, "terminated", from_states=("running", "stopped"))


def _instance_becomes(world: World, key: str, state: str, from_states: tuple[str, ...]) -> Outcome:
    row = world.row("cloud.instances", key)
    if row is None:
        return missing("instance", key)
    if row["state"] == state:
        return unchanged(instance=key, state=state)
    if row["state"] not in from_states:
        return failed(f"instance {key!r} is {row['state']}")
    world.update("cloud.instances", key, state=state)
    return changed(f"instance_{state}", key, instance=key, state=state)


def block_public_access(world: World, asked: BucketArguments) -> Outcome:
    """Block public access to a bucket."""
    row = world.row("cloud.buckets", asked.bucket)
    if row is None:
        return missing("bucket", asked.bucket)
    if not row["public"]:
        return unchanged(bucket=asked.bucket, public=False)
    world.update("cloud.buckets", asked.bucket, public=False)
    return changed("public_access_blocked", asked.bucket, bucket=asked.bucket, public=False)


def attach_policy(world: World, asked: PolicyArguments) -> Outcome:
    """Attach a permission policy to a principal."""
    return _set_policy(world, asked, attach=True)


def detach_policy(world: World, asked: PolicyArguments) -> Outcome:
    """Detach a permission policy from a principal."""
    return _set_policy(world, asked, attach=False)


def _set_policy(world: World, asked: PolicyArguments, *, attach: bool) -> Outcome:
    row = world.row("cloud.principals", asked.principal)
    if row is None:
        return missing("principal", asked.principal)
    if attach and world.row("cloud.policies", asked.policy) is None:
        return missing("policy", asked.policy)
    held: list[str] = list(row["policies"])
    if (asked.policy in held) == attach:
        return unchanged(principal=asked.principal, policies=held)
    policies = [*held, asked.policy] if attach else [name for name in held if name != asked.policy]
    world.update("cloud.principals", asked.principal, policies=policies)
    kind = "policy_attached" if attach else "policy_detached"
    return changed(kind, asked.principal, principal=asked.principal, policies=list(policies))


def _act(name: str, text: str, arguments: type[Arguments], run: Any, change: str, *, back: bool = True) -> Tool:
    effect = Effect.REVERSIBLE if back else Effect.IRREVERSIBLE
    return Tool(
        f"cloud.{name}", text, arguments, run, effect, authority=Authority.ACT, change=change, leaves=("reason",)
    )  # fmt: skip


_KIND = "cloud_record"
TOOLS = (
    Tool("cloud.list_keys", "List access keys.", KeyList, list_keys, kind=_KIND),
    Tool("cloud.get_key_activity", "Return what a key did.", KeyActivity, get_key_activity, kind=_KIND),
    Tool("cloud.list_instances", "List the instances.", Arguments, list_instances, kind=_KIND),
    Tool("cloud.describe_instance", "Return an instance.", AnyInstanceArguments, describe_instance, kind=_KIND),
    Tool("cloud.list_buckets", "List the storage buckets.", Arguments, list_buckets, kind=_KIND),
    Tool("cloud.get_tags", "Return a resource's tags.", Tags, get_tags, kind=_KIND),
    Tool("cloud.get_principal", "Return a principal and its policies.", Principal, get_principal, kind=_KIND),
    _act("deactivate_key", "Deactivate a key.", KeyArguments, deactivate_key, "key_deactivated"),
    _act("activate_key", "Activate a key.", KeyArguments, activate_key, "key_activated"),
    _act("delete_key", "Delete a key for good.", KeyArguments, delete_key, "key_deleted", back=False),
    _act("stop_instance", "Stop an instance.", InstanceArguments, stop_instance, "instance_stopped"),
    _act(
        "terminate_instance", "Terminate an instance and its disks.", InstanceArguments, terminate_instance,
        "instance_terminated", back=False,
    ),
    _act(
        "block_public_access", "Block a bucket's public access.", BucketArguments, block_public_access,
        "public_access_blocked",
    ),
    _act("attach_policy", "Attach a policy to a principal.", PolicyArguments, attach_policy, "policy_attached"),
    _act("detach_policy", "Detach a policy from a principal.", PolicyArguments, detach_policy, "policy_detached"),
)  # fmt: skip
