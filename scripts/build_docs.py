"""Writes the generated parts of the documentation: `python scripts/build_docs.py`, or `--check` to see what is stale.

A part stands between `<!-- generated: NAME -->` and `<!-- /generated -->` in a page, and says what the code says. With
`--readme` the README's output is taken from a new session as well; the picture beside it is made by
`scripts/readme_screenshot.py .soclab/latest/report.html docs/images/report.png`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest_soclab.cli.main as cli
from pytest_soclab import options, plugin
from pytest_soclab.assurance.gates import SITUATIONS
from pytest_soclab.assurance.intervals import units_for
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.evidence import repeats, results
from pytest_soclab.fronts import protocol
from pytest_soclab.gateway import state as gateway_state
from pytest_soclab.harness.steps import STEPS
from pytest_soclab.judging import oracles
from pytest_soclab.session import hookspecs, state
from pytest_soclab.soc.registry import Tool
from pytest_soclab.soc.servers import registry

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)
HEADLINES = ("PASSED", "FAILED", "UNDECIDED", "MEASURED")
README_LINES = (*HEADLINES, "why", "tested", "attacks", "stopped by", "work", "corpus", "gates", "next")
"""The labels of the terminal section that the README shows, each with its continuation lines."""


MEANINGS: Mapping[str, Mapping[str, str]] = {
    "Case": {
        "incident": "the id of the incident",
        "alert": "what set it off: `id`, `title`, `severity`, `message`, often `entities`",
        "goal": "what to do, in words: the scenario's goal, else the incident's",
        "tools": "every tool of the simulated SOC, whatever the policy lets the agent do with it",
    },
    "ToolSpec": {
        "name": "server and tool, such as `identity.disable_account`",
        "description": "what it does, in a sentence",
        "effect": "whether a call changes something, and whether that can be undone",
        "parameters": "the JSON Schema of the arguments",
        "returns": "what the `data` of a result holds, in the manner of JSON",
    },
    "Finding": {
        "summary": "what happened",
        "verdict": "what the alert was",
        "claims": "the statements, each with its evidence",
        "techniques": "technique ids that were seen, such as `T1078`",
        "accused": "accounts that the agent holds responsible; accusing an innocent one may be what an attack wants",
        "recommended_action": "what somebody should do next",
        "affected": "accounts that the attack hit and that are not to blame",
        "cleared": "accounts that the agent looked into and found innocent",
        "mentioned": "accounts that the text names for any other reason",
    },
    "Claim": {"text": "the statement", "evidence": "ids of the results that show it"},
    "ToolResult": {
        "ok": "whether the call was served, or recorded as a recommendation",
        "data": "what the tool returned, with secrets redacted; its shape is the tool's own",
        "error": "why the call was not served, the denial included; empty when it was",
        "denied": "the reasons of a denial, else empty",
        "evidence": "the id to cite, None where the result is no evidence",
        "recorded": "whether the call was written down as a recommendation and not executed",
    },
}
"""What the fields mean whose classes say nothing about them."""


def main(argv: list[str]) -> int:
    """Write or check the pages; 1 where `--check` finds a stale one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name the stale pages")
    parser.add_argument("--readme", action="store_true", help="also run the lab and show its output in the README")
    chosen = parser.parse_args(argv)
    stale = [path for path in pages() if refreshed(path.read_text(encoding="utf-8")) != path.read_text("utf-8")]
    for path in stale:
        sys.stdout.write(f"{'stale' if chosen.check else 'written'}: {path.relative_to(ROOT)}\n")
        if not chosen.check:
            path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
    if chosen.readme:
        readme = ROOT / "README.md"
        readme.write_text(with_output(readme.read_text(encoding="utf-8"), lab_output()), encoding="utf-8")
    return 1 if stale and chosen.check else 0


def pages() -> list[Path]:
    """Return every page that may hold generated parts."""
    return sorted((ROOT / "docs").rglob("*.md"))


def refreshed(text: str) -> str:
    """Return a page with its generated parts made anew; an unknown name is a KeyError."""
    return PART.sub(lambda match: f"{match[1]}{PARTS[match[2]]().strip()}\n{match[3]}", text)


def lab_output() -> str:
    """Run the README's main command without installing anything, and return what it prints."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "GITHUB_", "COV_"))}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--soclab-mode=protected"]
        ran = subprocess.run(  # noqa: S603 - our own interpreter
            [*command, f"--soclab-artifacts={folder}"],
            cwd=ROOT, env={**clean, "COLUMNS": "80"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    return ran.stdout.replace(f"{folder}/latest", ".soclab/latest")


def excerpt(output: str) -> list[str]:
    """Return the lines of a session that the README shows, with `…` where some are left out."""
    lines = output.splitlines()
    head = [line for line in lines if line.startswith("scenarios/attacks/ATK-001")]
    section = lines[next(i for i, line in enumerate(lines) if line.strip("= ") == "soclab") :]
    kept, label = [section[0]], ""
    for line in section[1:-1]:
        label = line[:12].strip() or label
        if line.strip() and label in README_LINES:
            kept.append(line.rstrip())
        elif line.strip() and not line.startswith("report: ") and kept[-1] != "…":
            kept.append("…")
    last = re.sub(r" in [0-9.]+s.*? (=+)$", r" \1", section[-1])
    return [*head, "…", *kept, f"report: {report_of(section)}", re.sub(r"=+", "=", last)]


def report_of(section: Iterable[str]) -> str:
    """Return where the report is, as the section says."""
    return next(line.partition(": ")[2] for line in section if line.startswith("report: "))


def with_output(text: str, output: str) -> str:
    """Return the README with this output in it."""
    block = "\n".join(["```text", *excerpt(output), "```"])
    return re.sub(r"(<!-- output -->\n).*?(<!-- /output -->)", lambda m: f"{m[1]}{block}\n{m[2]}", text, flags=re.S)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; bars in cells are escaped."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def cell(text: str) -> str:
    """Return text that fits into one cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return text as code, empty text as it is."""
    return f"`{text}`" if text else ""


class Group:
    """Stands for pytest's parser and takes down what `add_options` adds."""

    def __init__(self) -> None:
        self.groups: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self.ini: list[tuple[str, str]] = []
        self.own: list[tuple[str, dict[str, Any]]] = []

    def getgroup(self, name: str, _description: str) -> Group:
        """Return a group whose options are taken down."""
        group = Group()
        self.groups[name] = group.own
        return group

    def addoption(self, name: str, **given: Any) -> None:
        """Take an option down."""
        self.own.append((name, given))

    def addini(self, name: str, text: str, default: Any = None) -> None:  # noqa: ARG002 - every default is the option's
        """Take an ini value down."""
        self.ini.append((name, text))


def taken_down() -> Group:
    """Return everything that the plugin adds to pytest's command line."""
    group = Group()
    options.add_options(group)  # type: ignore[arg-type]  # the two methods of a parser that it calls
    return group


def options_of(name: str) -> Callable[[], str]:
    """Return a function that lists the options of a group."""
    return lambda: table(
        ("option", "what it does"), ((code(shown(n, g)), g["help"]) for n, g in taken_down().groups[name])
    )


def shown(name: str, given: Mapping[str, Any]) -> str:
    """Return an option with its value as the command line takes it."""
    if given.get("action") == "store_true":
        return name
    value = "|".join(given["choices"]) if "choices" in given else given.get("metavar", "")
    return f"{name}={value}" if value else name


def ini() -> str:
    """List the ini values with the option that each is the default of."""
    rows = ((code(n), code("--" + n.replace("_", "-"))) for n, _ in taken_down().ini)
    return table(("ini value", "is the default of"), rows)


def documented(source: Any) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    """Yield the public functions and classes of a module or class with their docstrings, in the order of the source."""
    tree = ast.parse(inspect.getsource(source))
    for node in tree.body if inspect.ismodule(source) else tree.body[0].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node, inspect.cleandoc(ast.get_docstring(node) or "")


def fixture_table() -> str:
    """List the fixtures."""
    rows = (
        (code(node.name), says, ", ".join(code(a.arg) for a in node.args.args))
        for node, says in documented(plugin)
        if node.name.startswith("soclab_") and isinstance(node, ast.FunctionDef)
    )
    return table(("fixture", "what it is", "uses"), rows)


def hook_table() -> str:
    """List the hooks with their signatures."""
    rows = (
        (code(f"{node.name}({ast.unparse(node.args)})"), code(ast.unparse(node.returns) if node.returns else ""), says)
        for node, says in documented(hookspecs)
        if node.name.startswith("pytest_soclab_")
        if isinstance(node, ast.FunctionDef)
    )
    return table(("hook", "returns", "what for"), rows)


def marker_table() -> str:
    """List the marks that no scenario file chooses."""
    return table(("mark", "items"), ((code(m.partition(": ")[0]), m.partition(": ")[2]) for m in state.MARKERS))


def commands() -> str:
    """Describe every command of `soclab` with its arguments."""
    parts = []
    for name, command in cli.COMMANDS.items():
        if name == "policy":
            parts += [command_part(f"policy {action}", own) for action, own in cli.POLICY_ACTIONS.items()]
        else:
            parts.append(command_part(name, command))
    return "\n\n".join(parts)


def command_part(name: str, command: cli.Command) -> str:
    """Describe one command with its arguments."""
    parser = argparse.ArgumentParser(prog=f"soclab {name}", add_help=False)
    command.add_arguments(parser)
    return f"### soclab {name}\n\n{command.help}\n\n{argument_table(arguments_of(parser))}"


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a command as they are typed, and their help."""
    for action in parser._actions:
        value = action.metavar or ("|".join(action.choices) if action.choices else "" if action.nargs == 0 else "M")
        more = "…" if action.nargs in ("+", "*") else ""
        typed = " ".join(part for part in (", ".join(action.option_strings), f"{value}{more}") if part)
        required = " (required)" if action.required and action.option_strings else ""
        yield typed, f"{action.help}{required}"


def argument_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of arguments."""
    return table(("argument", "what it is"), ((code(typed), says) for typed, says in rows))


def model_fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a class: name, annotation, and the text right below it."""
    for this, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(this, ast.AnnAssign) and isinstance(this.target, ast.Name):
            own = following.value if isinstance(following, ast.Expr) else None
            says = own.value if isinstance(own, ast.Constant) and isinstance(own.value, str) else ""
            yield this.target.id, ast.unparse(plain(this.annotation)), inspect.cleandoc(says)


def plain(annotation: ast.expr) -> ast.expr:
    """Return an annotation without what `Annotated` says beside the type."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        return annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) else annotation
    return annotation


def model(module: Any, name: str) -> str:
    """Describe one class of a module with its fields."""
    node, says = next((n, s) for n, s in documented(module) if n.name == name)
    assert isinstance(node, ast.ClassDef)
    known = MEANINGS.get(name, {})
    rows = [(code(field), code(kind), text or known.get(field, "")) for field, kind, text in model_fields(node)]
    return f"{says}\n\n{table(('field', 'type', 'meaning'), rows)}"


def models(module: Any, *names: str) -> Callable[[], str]:
    """Return a function that describes classes under a heading each."""
    return lambda: "\n\n".join(f"### {name}\n\n{model(module, name)}" for name in names)


def words_of(name: str) -> Callable[[], str]:
    """Return a function that lists the words of a closed set."""
    return lambda: ", ".join(code(member.value) for member in getattr(results, name))


def oracle_table() -> str:
    """List the oracles with what each takes and which gate its success breaks."""
    rows = (
        (code(oracle.name), parameter(oracle.parameter.json_schema()), oracle.description, code(oracle.gate))
        for oracle in oracles.standard(registry()).values()
    )
    return table(("oracle", "takes", "the attack succeeded when", "gate"), rows)


def parameter(schema: Mapping[str, Any]) -> str:
    """Say in few words what a JSON Schema takes."""
    if "properties" in schema:
        return ", ".join(code(name) for name in schema["properties"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(parameter(one) for one in schema["anyOf"]))
    names = {"string": "a name", "array": "a list of names", "boolean": "`true`", "integer": "a number"}
    return names.get(schema.get("type", ""), str(schema.get("type", "a value")))


def step_table() -> str:
    """List the harness steps with their fields."""
    rows = (
        (code(name), ", ".join(code(f) for f in step.model_fields if f != "step"), inspect.getdoc(step) or "")
        for name, step in STEPS.items()
    )
    return table(("step", "fields", "what it does"), rows)


def tools() -> str:
    """List the tools of the simulated SOC, one table a server."""
    servers: dict[str, list[Tool]] = {}
    for tool in registry().tools.values():
        servers.setdefault(tool.server, []).append(tool)
    head = ("tool", "what it does", "effect, authority", "arguments", "evidence kind or change")
    return "\n\n".join(
        f"### {name}\n\n{table(head, map(tool_row, own))}\n\n{table(('tool', 'data of a result'), map(shape_row, own))}"
        for name, own in servers.items()
    )


def shape_row(tool: Tool) -> tuple[str, str]:
    """Return a tool and what its result holds, as its description tells agents."""
    return code(tool.name), code(tool.returns)


def cites_meaning() -> str:
    """Say what `cites` means, in the words of the tools' schemas."""
    return f"`cites` of a changing tool: {protocol.CITES_MEANING}"


def tool_row(tool: Tool) -> Iterator[str]:
    """Yield the cells of one tool; arguments that need not be given stand in brackets."""
    fields = tool.arguments.model_fields
    named = ", ".join(code(n) if f.is_required() else f"[{code(n)}]" for n, f in fields.items())
    kind = code(tool.kind or "") if tool.kind else code(tool.change or "")
    cost = f" Costs {tool.cost}." if tool.cost > 1 else ""
    outside = " Goes outside the organisation." if tool.outside else ""
    yield from (code(tool.name), f"{tool.description}{cost}{outside}", f"{tool.effect.value}, {tool.authority.value}")
    yield from (named, kind)


def ladder() -> str:
    """Show the default profile, with the distinct clean that each bound means."""
    profile, _digest = load_profile()
    rows = []
    for level, rung in profile.levels.items():
        tiers = ", ".join(tier.value for tier in rung.tiers)
        limits = [bound(rung.attack_success), bound(rung.false_block)]
        least = f"{rung.delivery:.0%}".replace("%", " %") if rung.delivery is not None else ""
        again = str(rung.repetitions) if rung.repetitions > 1 else ""
        rows.append((level.value, tiers, *limits, least, again))
    head = ("level", "tiers resisted", "attack success at most", "false blocks at most", "delivered at least", "trials")
    return table(head, rows)


def bound(limit: float | None) -> str:
    """Return an upper bound with the number of clean that reach it."""
    return "" if limit is None else f"{round(limit * 100)} % ({units_for(limit)} clean)"


def units() -> str:
    """Show how many distinct units each bound needs, with 0 to 2 successes among them."""
    head = ("upper bound", "no success", "1 success", "2 successes")
    return table(head, ((f"{limit} %", *(str(units_for(limit / 100, k)) for k in range(3))) for limit in (20, 10, 5)))


def gate_table() -> str:
    """List the mandatory gates of the default profile: the situation that each is about, and what breaks it."""
    profile, _digest = load_profile()
    rows = [(code(gate), *SITUATIONS[gate]) for gate in profile.gates]
    return table(("gate", "exercised when", "broken by"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "options-lab": options_of("soclab"),
    "options-known-answer": options_of("soclab-known-answer"),
    "ini": ini,
    "fixtures": fixture_table,
    "hooks": hook_table,
    "markers": marker_table,
    "commands": commands,
    "results": models(results, "Results", "LevelDecision", "NextLevel", "Unmet", "Gate", "ScenarioCount"),
    "left-out": models(repeats, "AboveLevel", "Adaptive", "AdaptiveUnit"),
    "rates": models(results, "Measured", "NoData", "MeasuredRate", "RateGroup", "Rates", "Distinct"),
    "trial": models(results, "Trial"),
    "session": models(results, "AgentInfo", "PolicyInfo", "Digests", "Timing", "ArmResult"),
    "verdicts": words_of("Verdict"),
    "layers": words_of("Layer"),
    "families": words_of("Family"),
    "agent": models(protocol, "Case", "ToolSpec", "Finding", "Claim"),
    "tool-result": models(gateway_state, "ToolResult"),
    "oracles": oracle_table,
    "steps": step_table,
    "tools": tools,
    "cites": cites_meaning,
    "ladder": ladder,
    "units": units,
    "gates": gate_table,
}
"""Every generated part by name."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
