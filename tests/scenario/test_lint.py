"""`soclab lint`: what collection checks, and what only a whole corpus can get wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.settings import Settings
from pytest_soclab.cli import authoring
from pytest_soclab.cli.authoring import LintOptions, lint
from pytest_soclab.cli.main import main
from pytest_soclab.soc.registry import Effect, Registry
from pytest_soclab.trials.lab import Lab

from .support import ATTACK, CONTROL


class Home:
    """A folder with a small corpus, and `soclab lint` run in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = folder / "scenarios"
        self.capsys = capsys
        self.attack = self.write("attacks/ATK-001-note.yaml", ATTACK)
        self.control = self.write("controls/BEN-001-disable.yaml", CONTROL)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def change(self, old: str, new: str, path: Path | None = None) -> None:
        path = path or self.attack
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def lint(self, *arguments: str) -> tuple[int, list[str]]:
        status = main(["lint", *arguments])
        captured = self.capsys.readouterr()
        return status, (captured.out + captured.err).splitlines()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Home:
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path, capsys)
    source = resources.scenarios() / "incidents" / "identity-compromise.yaml"
    (home.root / "incidents").mkdir()
    shutil.copy(source, home.root / "incidents")
    return home


def test_a_clean_corpus(home: Home) -> None:
    status, [note, count] = home.lint()
    assert (status, count) == (0, "no fault in 2 scenarios, 3 units, 1 incident")
    assert note.startswith("note: no attack is evidence for sensitive_data_leakage, ")


def test_paths_choose_what_is_checked(home: Home, tmp_path: Path) -> None:
    assert home.lint("scenarios/attacks")[1] == ["no fault in 1 scenario, 2 units, 0 incidents"]
    assert home.lint(str(home.control))[1] == ["no fault in 1 scenario, 1 unit, 0 incidents"]
    assert home.lint("scenarios/incidents/identity-compromise.yaml")[1] == [
        "no fault in 0 scenarios, 0 units, 1 incident"
    ]
    both = home.lint("scenarios", "scenarios/attacks/ATK-001-note.yaml")[1]
    assert both[-1] == "no fault in 2 scenarios, 3 units, 1 incident"


@pytest.mark.parametrize("path", ["nowhere", "empty", "scenarios/notes.yaml", "scenarios/attacks/ATK-001.yml"])
def test_a_path_with_nothing_to_check_is_a_usage_error(home: Home, path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    home.write("notes.yaml", "a: 1")
    home.write("attacks/ATK-001.yml", ATTACK)
    status, [line] = home.lint(path)
    assert status == 2
    assert line.startswith(f"{path}: found no ")


def test_every_file_fault_is_listed_and_the_others_are_still_checked(home: Home) -> None:
    home.write("attacks/ATK-002-bad.yaml", ATTACK.replace("ATK-001", "ATK-002").replace("tier: medium", "tier: none"))
    home.write("incidents/small.yaml", "id: small\n")
    home.change("stopped_by: protected_asset", "stopped_by: protected_assets")
    status, lines = home.lint("--no-witness")
    assert status == 1
    text = "\n".join(lines)
    assert "ATK-001-note.yaml:22:1 stopped_by: found the unknown stop 'protected_assets'" in text
    assert "did you mean 'protected_asset'?" in text
    assert "ATK-002-bad.yaml:5:1 tier: found 'none', expected a tier" in text
    assert "incidents/small.yaml:1:1 tables: found nothing" in text
    notes = [line for line in lines if line.startswith("note: ")]
    assert lines[-1] == f"{len(lines) - len(notes) - 1} faults in 3 scenarios, 3 units, 2 incidents"


Break = Callable[[Home], object]
BREAKS: dict[str, tuple[Break, str]] = {
    "no twin": (
        lambda h: h.change("twin: BEN-001\n", ""),
        "ATK-001-note.yaml:1:1 twin: found no twin, expected a control that uses the same tool where it belongs",
    ),
    "twin that does not exist": (
        lambda h: h.change("twin: BEN-001", "twin: BEN-002"),
        "ATK-001-note.yaml:10:1 twin: found no scenario 'BEN-002' in the corpus; did you mean 'BEN-001'?",
    ),
    "twin of the same kind": (
        lambda h: h.change("twin: BEN-001", "twin: ATK-001"),
        "ATK-001-note.yaml:10:1 twin: found 'ATK-001', expected a control, BEN-…; a twin is of the other kind",
    ),
    "attack as a control's twin": (
        lambda h: h.change("twin: ATK-001", "twin: BEN-001", h.control),
        "BEN-001-disable.yaml:7:1 twin: found 'BEN-001', expected an attack, ATK-…",
    ),
    "twin without a tool in common": (
        lambda h: h.write(
            "controls/BEN-001-disable.yaml",
            CONTROL.replace("identity.disable_account", "endpoint.isolate_host").replace(
                "user: alex.rivera}", "host: wks-fin-07}"
            ),
        ),
        "ATK-001-note.yaml:10:1 twin: found the twin BEN-001, which calls none of identity.disable_account, "
        "expected a tool in common; BEN-001 calls endpoint.isolate_host, siem.search",
    ),
    "id twice": (
        lambda h: h.write("attacks/ATK-001-again.yaml", ATTACK),
        "ATK-001-again.yaml:1:1 id: found the id ATK-001 in ATK-001-note.yaml too, expected one file for an id",
    ),
    "stop that nothing answers": (
        lambda h: h.change("stopped_by: protected_asset", "stopped_by: good_luck"),
        "ATK-001-note.yaml:22:1 stopped_by: found the unknown stop 'good_luck', "
        "expected a reason of the policy or another check; valid: account_without_role, approver, ",
    ),
    "technique that does not exist": (
        lambda h: h.change("AML.T0051.001", "AML.T0051.007"),
        "ATK-001-note.yaml:7:9 atlas[0]: found the unknown id 'AML.T0051.007', expected an id of MITRE ATLAS",
    ),
    "oracle that sees nothing": (
        lambda h: h.change("account_disabled: svc-backup", "account_disabled: somebody"),
        "ATK-001-note.yaml:15:3 variants.plain: found a variant that cannot prove itself: "
        "the oracle cannot see this attack: the script made account_disabled of svc-backup, the oracle names somebody",
    ),
    "oracle for another change": (
        lambda h: h.change("account_disabled: svc-backup", "password_reset: [svc-backup, hana.sato]"),
        "the oracle cannot see this attack: the script made account_disabled of svc-backup, "
        "the oracle names password_reset: svc-backup or hana.sato",
    ),
    "script for a target that does not exist": (
        lambda h: h.change("{user: svc-backup}, cites", "{user: svc-backop}, cites"),
        "the oracle cannot see this attack: the script made a call of identity.disable_account that failed (",
    ),
    "twin where no control exists": (
        lambda h: h.control.unlink(),
        "ATK-001-note.yaml:10:1 twin: found no scenario 'BEN-001' in the corpus; write it: soclab new",
    ),
    "payload that nothing reads": (
        lambda h: h.change("user:alex.rivera source:helpdesk", "user:maya.chen"),
        "ATK-001-note.yaml:16:3 variants.german: found a variant that cannot prove itself: "
        "the script succeeds without reading the payload",
    ),
    "control that is not served": (
        lambda h: h.change("legitimate:\n  - {call: identity.disable_account, args: {user: alex.rivera}}",
                           "legitimate:\n  - {call: identity.disable_account, args: {user: maya.chen}}", h.control),
        "BEN-001-disable.yaml:1:1 variants.plain: found a variant that cannot prove itself: the script is not served",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKS)
def test_each_fault_of_a_corpus_is_found(home: Home, what: str) -> None:
    damage, expected = BREAKS[what]
    damage(home)
    status, lines = home.lint()
    assert status == 1
    assert any(expected in line for line in lines), lines


def test_a_twin_that_cannot_be_read_has_only_its_own_faults(home: Home) -> None:
    home.change("tier: medium", "tier: none")
    status, lines = home.lint("--no-witness")
    assert status == 1
    assert ["tier" in line for line in lines] == [True, False]
    assert home.lint("--no-witness", str(home.control)) == (0, [
        f"note: {home.control}: its twin ATK-001 cannot be read, so it was not checked",
        "no fault in 1 scenario, 1 unit, 0 incidents",
    ])  # fmt: skip


def test_a_twin_needs_another_target_or_other_circumstances(home: Home) -> None:
    same = ATTACK[ATTACK.index("given:") : ATTACK.index("attack_succeeds_when")].replace("{{ payload }}", "x")
    agent = same[same.index("agent:") :].replace("agent:\n", "").splitlines()
    control = (
        CONTROL[: CONTROL.index("agent:")]
        + ATTACK[ATTACK.index("given:") : ATTACK.index("attack_succeeds_when")]
        + f"legitimate:\n{agent[-1].split(', cites')[0]}}}\n"
    )
    home.write("controls/BEN-001-disable.yaml", control)
    status, lines = home.lint("--no-witness")
    assert status == 1
    assert "found the twin BEN-001, which makes the same calls of identity.disable_account" in lines[0]
    home.change("agent:\n", "charter: {degraded: true}\nagent:\n", home.control)
    assert home.lint("--no-witness")[0] == 0


def test_a_payload_that_only_an_acting_tool_hands_out_reaches_nobody(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(Settings())
    search = replace(lab.registry.tools["siem.search"], effect=Effect.REVERSIBLE)
    lab.registry = Registry.of([*(tool for name, tool in lab.registry.tools.items() if name != search.name), search])
    monkeypatch.setattr(authoring, "Lab", lambda settings: lab)
    _, lines = home.lint("scenarios/attacks")
    assert "variants.plain: found a variant that cannot prove itself: no reading step of the script is" in lines[0]


def test_the_witnesses_can_be_left_out(home: Home) -> None:
    home.change("account_disabled: svc-backup", "account_disabled: somebody")
    assert home.lint()[0] == 1
    assert home.lint("--no-witness")[0] == 0


def test_the_stops_are_those_of_the_given_policy(home: Home, tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    shutil.copytree(resources.policies(), policy)
    for path in policy.glob("*.rego"):
        path.write_text(path.read_text().replace('"protected_asset"', '"crown_jewel"'))
    status, lines = home.lint("--policies", str(policy), "--no-witness")
    assert status == 1
    assert "found the unknown stop 'protected_asset'" in lines[0]
    home.change("stopped_by: protected_asset", "stopped_by: crown_jewel")
    assert home.lint("--policies", str(policy), "--no-witness")[0] == 0
    assert home.lint("--policies", str(tmp_path / "nowhere"))[0] == 2


def test_gates_without_an_attack_are_faults_where_asked(home: Home) -> None:
    status, lines = home.lint("--complete", "--no-witness")
    assert status == 1
    assert "found no attack that is evidence for the gate approval_bypass, expected one at least" in "\n".join(lines)
    assert lines[-1].startswith("6 faults in ")
    assert not [line for line in home.lint("--complete", "scenarios/attacks/ATK-001-note.yaml")[1] if "gate" in line]


def test_hostile_text_is_shown_escaped(home: Home) -> None:
    home.write("attacks/ATK-002-\x1b[31m.yaml", ATTACK.replace("tier: medium", 'tier: "\\e]0;x\\a"'))
    _, lines = home.lint("--no-witness")
    assert all(line.isprintable() for line in lines)


def test_the_bundled_corpus_is_readable_and_proves_itself() -> None:
    said = lint(LintOptions([str(resources.scenarios())], witnesses=False))
    faults = [line for line in said.text.splitlines()[:-1] if not line.startswith("note: ") and " twin: " not in line]
    assert faults == []


def test_without_a_folder_of_its_own_the_bundled_corpus_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for hidden in (".cache", "venv", "node_modules"):  # not the reader's own files
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "ATK-001.yaml").write_text(ATTACK)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    said = lint(LintOptions(witnesses=False))
    first, *_, last = said.text.splitlines()
    scenarios = [*resources.scenarios().rglob("ATK-*.yaml"), *resources.scenarios().rglob("BEN-*.yaml")]
    assert first == f"no folder scenarios/ here: checked the bundled corpus, {resources.scenarios()}"
    assert f" in {len(scenarios)} scenarios, " in last


@pytest.mark.parametrize(("name", "top"), [("ATK-074.yaml", "."), ("mine/below/BEN-074-note.yaml", "mine")])
def test_scenarios_outside_their_folder_are_not_passed_over_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, top: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ATTACK)
    assert main(["lint", "--no-witness"]) == 2
    found = "found scenarios here but no folder scenarios/, and no path was given"
    assert capsys.readouterr().err == f"{name}: {found}; name them: soclab lint {top}\n"


@pytest.mark.parametrize(("oracle", "stop"), [
    ("secret_left: vpn_preshared_key", "sensitive_data"),
    ("spent_more_than: {cost: 8}", "cost_budget"),
    ("model_acted: m", "unapproved_model"),
    ("unknown_evidence_cited: ev_0009", "unverified_evidence"),
    ("foreign_evidence_cited: ransomware-endpoint", "foreign_evidence"),
])  # fmt: skip
def test_an_oracle_that_repeats_its_control_is_a_bundled_fault(tmp_path, capsys, monkeypatch, oracle, stop):
    home = Home(tmp_path, capsys)
    home.change("account_disabled: svc-backup", oracle)
    home.change("stopped_by: protected_asset", f"stopped_by: {stop}")
    name = oracle.partition(":")[0]
    shutil.copytree(resources.scenarios() / "incidents", home.root / "incidents")
    monkeypatch.setattr(authoring.resources, "scenarios", lambda: home.root)
    found = lint(LintOptions(paths=[str(home.root)])).text
    assert f"attack_succeeds_when.{name}: found the oracle {name}, which looks for what the control {stop}" in found
    monkeypatch.setattr(authoring.resources, "scenarios", lambda: tmp_path / "elsewhere")
    assert "which looks for what the control" not in lint(LintOptions(paths=[str(home.root)])).text
