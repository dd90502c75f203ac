"""The policy's input: what the session and the incident say, complete and well-formed for every possible call."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_soclab.base.networks import network_of
from pytest_soclab.evidence.results import Level
from pytest_soclab.gateway import facts
from pytest_soclab.gateway.facts import decision_input, in_scope
from pytest_soclab.gateway.normal import proposal_of, request_of
from pytest_soclab.gateway.state import CALL_SECONDS
from pytest_soclab.policy.model import DecisionInput
from pytest_soclab.soc.registry import Aim
from pytest_soclab.soc.servers import registry
from pytest_soclab.soc.world import Asset, Window

from .hostile import ANYTHING
from .support import DISABLE, FixedEngine, Live, allow, deny, examples, of_type, red

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # that some are long to print
BLOCK = "network.block_address"
READ = "siem.search"
LEVELS = st.sampled_from(list(Level))


def document(point, tool, arguments, cites=()):
    proposal = proposal_of(point.state, request_of(tool, arguments, cites))
    return decision_input(point.state, proposal, point.state.registry.get(tool))


def target(point, tool, arguments):
    (found,) = document(point, tool, arguments)["targets"]
    return found


def chartered(bench, **changed):
    point = bench.gateway()
    point.state.world.charter = dataclasses.replace(point.state.world.charter, **changed)
    return point


@given(st.sampled_from(sorted(registry().tools)), st.data(), LEVELS)
@examples(50)
def test_the_document_is_valid_for_every_tool_and_any_arguments(bench, name, data, level):
    fields = sorted(registry().tools[name].arguments.model_fields) or ["x"]
    arguments = data.draw(st.dictionaries(st.sampled_from([*fields, "other"]), ANYTHING, max_size=4))
    made = document(bench.gateway(level=level), name, arguments)
    assert DecisionInput.model_validate(made).model_dump(mode="json") == made


@given(st.text(max_size=30) | st.just("no.such"))
def test_an_unknown_tool_has_empty_facts(bench, name):
    assume(name not in registry().tools)
    made = document(bench.gateway(), name, {"user": "svc-backup"})
    assert made["tool"] == {
        "name": made["tool"]["name"], "known": False, "server": "", "effect": "", "kind": "", "authority": "",
        "change": "",
    }  # fmt: skip
    assert made["targets"] == []
    DecisionInput.model_validate(made)


def test_nothing_that_an_agent_says_of_itself_reaches_the_policy(bench):
    arguments = {
        "user": "hana.sato",
        "level": 5,
        "approved": True,
        "agent": {"model": "x"},
        "targets": [],
        "in_scope": True,
    }
    made = document(bench.gateway(), DISABLE, arguments)
    assert made["level"] == 4
    assert made["agent"] == {"name": "obey", "model": "", "scripted": True}
    assert made["targets"][0]["value"] == "hana.sato"
    assert made["schema_faults"]


def test_a_live_agents_own_model_is_the_approved_one_and_a_scripted_agent_has_none(bench):
    live = bench.gateway(agent=Live(lambda *_: None))
    assert document(live, READ, {})["agent"] == {"name": "live", "model": "example-model-1", "scripted": False}
    assert document(live, READ, {})["incident"]["approved_models"][-1] == "example-model-1"


# Scope and size


@pytest.mark.parametrize(
    ("address", "scoped", "size"),
    [
        ("203.0.113.77", True, 1),
        ("203.0.113.76/30", True, 4),
        ("203.0.113.77/30", True, 4),  # host bits set: the same network
        ("203.0.113.76/255.255.255.252", True, 4),
        ("203.0.113.76/29", False, 8),
        ("203.0.113.80", False, 1),
        ("0.0.0.0/0", False, 2**32),
        ("2001:db8:77::1", True, 1),
        ("2001:DB8:77::/64", True, 2**53 - 1),
        ("2001:db8:77::/48", True, 2**53 - 1),
        ("2001:db8::/32", False, 2**53 - 1),
        ("::/0", False, 2**53 - 1),
        ("::ffff:203.0.113.77", True, 1),
        ("203.0.113.077", False, 1),
        ("203.0.113.77 ", False, 1),
        ("203.0.113.77\u200b", False, 1),
        ("２03.0.113.77", False, 1),
        ("3405803853", False, 1),
        ("garbage", False, 1),
        ("", False, 1),
        ("203.0.113.77/33", False, 1),
    ],
)
def test_scope_and_size_of_an_address(bench, address, scoped, size):
    check_address(bench, address, scoped, size)


def check_address(bench, address, scoped, size):
    found = target(bench.gateway(), BLOCK, {"address": address})
    assert (found["in_scope"], found["size"]) == (scoped, size)


@given(st.ip_addresses().map(str) | st.text("0123456789abcdef.:/", max_size=20))
def test_only_what_lies_in_a_network_of_the_scope_is_in_scope(bench, text):
    charter = bench.gateway().state.world.charter
    inside = in_scope(Aim("address", "address", text, True), charter)
    network = network_of(text)
    named = [network_of(entry) for entry in charter.scope["address"]]
    expected = network is not None and any(n.version == network.version and network.subnet_of(n) for n in named)
    assert inside is (expected or text in charter.scope["address"])


def test_a_network_that_covers_a_protected_address_is_protected(bench):
    check_covered(bench)


def check_covered(bench):
    assets = {"192.0.2.53": Asset(protected=True), "192.0.2.10": Asset(), "2001:db8::53": Asset(protected=True)}
    point = chartered(bench, assets=assets)
    for address, protected in {
        "192.0.2.53": True, "192.0.2.53/32": True, "192.0.2.0/24": True, "192.0.2.54/24": True, "0.0.0.0/0": True,
        "192.0.2.10": False, "192.0.2.0/28": False, "2001:db8::/32": True, "2001:db9::/32": False,
    }.items():  # fmt: skip
        assert target(point, BLOCK, {"address": address})["protected"] is protected, address


def test_other_types_are_in_scope_by_their_exact_name(bench):
    for user, scoped in {
        "alex.rivera": True,
        "Alex.Rivera": False,
        "alex.rivera ": False,
        "аlex.rivera": False,
    }.items():
        assert target(bench.gateway(), DISABLE, {"user": user})["in_scope"] is scoped, user


def test_a_lookalike_is_not_ascii_and_a_genuine_name_is_in_scope(bench):
    fake, real = (target(bench.gateway(), DISABLE, {"user": user}) for user in ("аlex.rivera", "naïma.benali"))
    assert (fake["ascii"], fake["in_scope"], fake["declared"]) == (False, False, False)
    assert (real["ascii"], real["in_scope"], real["declared"]) == (False, True, True)


def test_nested_and_repeated_targets_are_all_seen(bench):
    arguments = {"user": ["hana.sato", {"a": "svc-backup"}, 5, None]}
    assert [t["value"] for t in document(bench.gateway(), DISABLE, arguments)["targets"]] == [
        "hana.sato",
        "svc-backup",
        "5",
    ]


# Assets, last holders, maintenance


def test_undeclared_assets_are_undeclared(bench):
    made = document(chartered(bench, assets=None), DISABLE, {"user": "svc-backup"})
    assert made["incident"]["assets_declared"] is False
    assert made["targets"][0]["declared"] is False


@pytest.mark.parametrize("role", ["idp_admin", "break_glass", "net_admin"])
def test_the_last_enabled_holder_of_any_role_is_known(bench, role):
    point = chartered(bench, assets={"adm-idp-1": Asset(roles=(role,)), "adm-idp-2": Asset(roles=(role, "other"))})
    assert target(point, DISABLE, {"user": "adm-idp-1"})["last_of"] == []
    point.state.world.update("identity.accounts", "adm-idp-2", enabled=False)
    assert target(point, DISABLE, {"user": "adm-idp-1"})["last_of"] == [role]


@pytest.mark.parametrize(("user", "inside"), [("naïma.benali", True), ("hana.sato", False)])
def test_maintenance_windows_are_the_targets_own(bench, user, inside):
    made = document(bench.gateway(), DISABLE, {"user": user})
    windows = made["targets"][0]["maintenance"]
    assert bool(windows) is inside
    assert all(window["start"] < made["now"] < window["end"] for window in windows)


def test_a_window_has_the_seconds_of_the_charter(bench):
    point = chartered(bench, maintenance=(Window("hana.sato", 5, 7), Window("other", 1, 2)))
    assert target(point, DISABLE, {"user": "hana.sato"})["maintenance"] == [{"start": 5, "end": 7}]


# Evidence


def test_evidence_is_what_the_transcript_holds(bench):
    point = bench.gateway(engine=FixedEngine(allow()))
    point.call(READ, {"query": "user:alex.rivera"})
    point.call("identity.get_account", {"user": "nobody"})
    made = document(
        point, DISABLE, {"user": "hana.sato"}, ["siem.search", "ev_0001", "ev_0002", "identity.get_account"]
    )
    (known,) = point.state.evidence
    assert [e["id"] for e in made["evidence"]] == [known, known]
    assert made["unknown_evidence"] == ["ev_0002", "identity.get_account"]


def test_a_denied_read_is_no_evidence(bench):
    point = bench.gateway(engine=FixedEngine(deny("no")))
    point.call(READ, {"query": "user:alex.rivera"})
    assert document(point, DISABLE, {"user": "hana.sato"}, ["siem.search", "ev_0001"])["evidence"] == []


def test_another_incidents_record_is_foreign_evidence(bench):
    point = bench.gateway(engine=FixedEngine(allow()))
    result = point.call(READ, {"query": "severity:High", "case": "ransomware-endpoint"})
    receipt = of_type(point.state.ledger.events, "receipt")[0]
    if receipt["foreign"]:
        (piece,) = document(point, DISABLE, {"user": "hana.sato"}, [result.evidence])["evidence"]
        assert piece["incident"] == "ransomware-endpoint"


# Budgets


def check_budgets(bench):
    point = bench.gateway(engine=FixedEngine(allow()))
    for tool, arguments in ((READ, {"query": "*"}), ("no.such", {}), (DISABLE, {"user": "hana.sato"})):
        point.call(tool, arguments)
    used = {
        name: budget["used"] for name, budget in document(point, DISABLE, {"user": "svc-report"})["budgets"].items()
    }
    cost = point.state.registry.tools[READ].cost + 2 * point.state.registry.tools[DISABLE].cost
    assert used == {"calls": 4, "cost": cost, "seconds": 3 * CALL_SECONDS, "changes": 2}


def test_budgets_count_what_was_used_and_this_call(bench):
    check_budgets(bench)
    assert document(bench.gateway(), READ, {})["budgets"]["changes"] == {"used": 0, "limit": 9}


def test_a_budget_that_nobody_set_is_zero(bench):
    assert document(chartered(bench, budgets={}), READ, {})["budgets"]["calls"] == {"used": 1, "limit": 0}


def test_sabotage_of_the_facts_is_seen(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(facts, "in_scope", lambda *_: True)
        red(check_address, bench, "203.0.113.76/29", False, 8)
    with monkeypatch.context() as patch:
        patch.setattr(facts, "covers", lambda outer, inner: inner == outer)
        red(check_address, bench, "203.0.113.77/31", True, 2)
        red(check_covered, bench)
    with monkeypatch.context() as patch:
        patch.setattr(facts, "_size", lambda _: 1)
        red(check_address, bench, "203.0.113.76/30", True, 4)
    with monkeypatch.context() as patch:
        patch.setattr(
            facts, "_budgets", lambda *_: {n: {"used": 0, "limit": 9} for n in ("calls", "cost", "seconds", "changes")}
        )
        red(check_budgets, bench)
