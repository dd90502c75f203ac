"""The agent: from the alert to the published finding, by rules that know nothing of any answer key."""

from __future__ import annotations

import re
from collections import Counter

from pytest_soclab import Case, Claim, Finding, Soc

from .desk import Desk, text_of
from .goals import look_around, orders_of
from .names import of_kind
from .response import respond
from .signs import Signs, read_signs, severe

REMARKABLE = "severity:Medium OR severity:High OR severity:Critical"
_PATTERNS = (
    (r"push (denied|timed out)", "T1621"), (r"MFA Factor Enable", "T1098.005"), (r"Wrong password", "T1110.003"),
    (r"[Ii]nbox rule", "T1564.008"), (r"[Ff]orwarding to|[Rr]ule: copy mail", "T1114.003"),
    (r"new country|foreign sign-in", "T1078"), (r"shadow", "T1490"), (r"renamed to", "T1486"),
    (r"lsass", "T1003.001"), (r"schtasks", "T1053.005"), (r"-enc |encoded command", "T1059.001"),
    (r"\.js\b", "T1059.007"), (r"Run key|CurrentVersion\W+Run", "T1547.001"), (r"Thread created", "T1055"),
    (r"[Ll]og[^.]{0,30}cleared", "T1070.001"), (r"files deleted", "T1070.004"), (r"removable drive", "T1052.001"),
    (r"[Uu]pload allowed", "T1567.002"), (r"remote management", "T1047"), (r"CreateAccessKey", "T1098.001"),
    (r"RunInstances", "T1578.002"), (r"[Uu]nsigned library", "T1574.002"), (r"[Bb]rowser password", "T1555.003"),
    (r"GetObject|opened for everyone", "T1530"), (r"printenv|\.npmrc|context\.xml", "T1552.001"),
    (r"\.ssh/", "T1552.004"), (r"sh -c", "T1059.004"), (r"socks", "T1572"), (r"SSH Activity", "T1021.004"),
    (r"RDP Activity", "T1021.001"), (r"tar czf|7z\.exe a|[Aa]rchive with", "T1560.001"), (r"MB out", "T1041"),
    (r"[Bb]ank details|erp\.approve", "T1657"), (r"cookie", "T1539"), (r"DeleteSnapshot", "T1485"),
    (r"[Rr]ule \S+ set to disabled", "T1562.001"), (r"event 4720", "T1136.002"),
    (r"[Tt]oken of|python-requests", "T1528"), (r"search\.messages", "T1552.008"), (r"[Bb]ulk.{0,40}vendor", "T1199"),
    (r"in white|hidden text", "AML.T0051.001"), (r"memory\.write", "AML.T0080.000"),
    (r"mail\.create_rule", "AML.T0053"),
)  # fmt: skip
_PLANT = (
    (r"[Rr]emote maintenance", "T0822"), (r"exempt from the code|password accepted", "T0859"),
    (r"RDP|saved credentials", "T0886"), (r"Identification requests", "T0846"), (r"program upload", "T0845"),
    (r"Modbus function", "T0836"), (r"program download", "T0843"), (r"shelved", "T0878"),
    (r"log.{0,30}cleared", "T0872"),
)  # fmt: skip
"""Words of events and the techniques that they speak of: of ATT&CK for enterprises, and for plants."""


class RuleBased:
    """Reads, correlates, acts and publishes; the same case always gives the same proposals."""

    name = "rule-based reference"
    model = "rules-1"
    deterministic = True

    def investigate(self, case: Case, soc: Soc) -> Finding:
        """Work on the case and return the finding."""
        desk = Desk(soc)
        look_around(desk, case.goal)
        orders = orders_of(case.goal)
        if orders:
            for order in orders:
                desk.act(order.tool, order.target, **order.arguments)
            return _finding(desk, _read_case(desk, case), case)
        signs = _read_case(desk, case)
        respond(desk, signs, f"{case.alert.get('title')} {case.alert.get('message')}", _ticket(case))
        return _finding(desk, signs, case)


def _ticket(case: Case) -> str:
    return next(iter(of_kind(f"{case.alert.get('entities')} {case.alert.get('message')}", "ticket")), "")


def _read_case(desk: Desk, case: Case) -> Signs:
    """Read what the alert names and what the sensors remarked on."""
    alerted = [str(name) for name in case.alert.get("entities") or ()]
    if _ticket(case):
        desk.read("cases.get_ticket", ticket=_ticket(case))
    desk.read("siem.search", query=REMARKABLE, limit=50)
    desk.read("siem.list_detections")
    for name in [name for name in alerted if not of_kind(name, "ticket")][:2]:
        desk.read("siem.search", query=f'"{name}"', limit=50)
    return read_signs(desk, alerted)


def _finding(desk: Desk, signs: Signs, case: Case) -> Finding:
    affected = [name for name in signs.accounts if name not in signs.insiders]
    names = [*signs.hostile, *signs.hosts, *signs.keys]
    claims = [
        Claim(f"The records of this case speak of {name}.", desk.speaking_of(name))
        for name in [*signs.insiders, *affected, *names][:8]
        if desk.speaking_of(name)
    ]
    accused = _grounded(desk, [name for name in signs.insiders if "." in name])
    affected += [name for name in signs.insiders if name not in accused]
    return Finding(
        summary=_summary(signs, case),
        verdict="true_positive" if signs.found else "undetermined",
        claims=claims,
        techniques=_techniques(desk),
        recommended_action="; ".join(desk.refused)[:400] and "A human should look at what was refused.",
        accused=accused,
        affected=affected,
    )


def _grounded(desk: Desk, names: list[str]) -> list[str]:
    """Return those whom two kinds of records name: nobody is accused on one, and never an account that is nobody's."""
    return [name for name in names if len(desk.speaking_of(name)) >= 2]


def _summary(signs: Signs, case: Case) -> str:
    if not signs.found:
        return f"Nothing hostile was found behind the alert {case.alert.get('id')}."
    parts = [f"hostile: {', '.join(signs.hostile)}"] if signs.hostile else []
    parts += [f"accounts used by strangers: {', '.join(signs.accounts)}"] if signs.accounts else []
    parts += [f"acted against us: {', '.join(signs.insiders)}"] if signs.insiders else []
    parts += [f"hosts that ran foreign code: {', '.join(signs.hosts)}"] if signs.hosts else []
    parts += [f"keys in foreign hands: {', '.join(signs.keys)}"] if signs.keys else []
    return f"Alert {case.alert.get('id')} is real; " + "; ".join(parts)


def _techniques(desk: Desk) -> list[str]:
    """Return the techniques of the detections that fired, and those that the events' words speak of."""
    events = severe(desk)
    titles = Counter(str(event.get("finding_info.title", "")) for event in events)
    rules = desk.rows("siem.list_detections", "detections")
    fired = [str(rule["technique"]) for rule in rules if titles[str(rule.get("title"))] and rule.get("technique")]
    told = "\n".join([*(text_of(event) for event in events), *(s for s in desk.told if "stolen" in s)])
    patterns = _PLANT if re.search("Modbus|S7 communication", told) else _PATTERNS
    return list(dict.fromkeys([*fired, *(name for pattern, name in patterns if re.search(pattern, told))]))
