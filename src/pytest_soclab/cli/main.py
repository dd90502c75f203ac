"""The command line `soclab`: one table of commands, each of which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from pytest_soclab import __version__
from pytest_soclab.base.errors import SoclabError, printable

if TYPE_CHECKING:
    from pytest_soclab.cli.authoring import Said
from pytest_soclab.options import LEVELS

PROGRAM = "soclab"
_ABOUT = "Write and check scenarios for an AI agent in the SOC, ask what a policy's rules are good for, recheck and \
compare stored sessions, and gate scored runs. The sessions themselves are run by pytest."
_NEXT = "A first session: `pytest --soclab-bundled`. A first scenario: `soclab incidents`, then `soclab new ATK`."
TROUBLE = 2
"""The exit status of every error, usage errors included."""


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: its help, how it adds its arguments, and what runs it and returns the exit status."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one printable line."""

    def error(self, message: str) -> NoReturn:
        line = printable(" ".join(message.split("\n")))
        self.exit(TROUBLE, f"{self.prog}: {line}; see `{self.prog} --help`\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `soclab` and return its exit status: 0, 1 as the command says, 2 on any error."""
    _speak_utf8()
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except SoclabError as error:
        sys.stderr.write(f"{error}\n")
        return TROUBLE
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would fail once more when it ends
        if not isinstance(error, BrokenPipeError):  # a reader that left knows that it did
            sys.stderr.write(f"{PROGRAM}: {printable(str(error))}\n")
        return TROUBLE
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: interrupted\n")
        return 130
    return status


def _speak_utf8() -> None:
    """Let a terminal that lacks a character show its escape, so that no output ever ends in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description=_ABOUT, epilog=_NEXT, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"pytest-soclab {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in COMMANDS.items():
        child = commands.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def whole_number(text: str) -> int:
    """Return the whole number that an argument writes in plain digits. Raises argparse.ArgumentTypeError."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _known_answer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sheet", metavar="CSV", help="the blind scoring sheet of the runs named blind:NAME")
    parser.add_argument("--map", metavar="JSON", help="the sealed map of the sheet: blind label to run name")
    parser.add_argument("--settings", metavar="JSON", help="stored settings, for the kinds that tools declare")
    parser.add_argument("--words", metavar="FILE", help="further scoring words, one line each: `✅: found`")
    parser.add_argument("--key", metavar="REGEX", help="what of a label is the item's key (its first group, if any)")
    parser.add_argument("--items", metavar="FILE", help="the items that every run must score, one label a line")
    parser.add_argument("--expect-items", type=whole_number, metavar="N", help="how many items every run must score")
    parser.add_argument("--allow-unread", action="store_true", help="only name what looks like an item and is not read")
    parser.add_argument("--markdown", action="store_true", help="print Markdown, for a comment on a pull request")
    parser.add_argument("--json", metavar="OUT", help="write the whole result to this file")


def _score_arguments(parser: argparse.ArgumentParser) -> None:
    what = "a scored run: score.md, results.csv, junit.xml, a log in JSON or blind:NAME"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=what)
    parser.add_argument("--m", type=whole_number, help="runs that must reach a verdict (default: more than half)")
    _known_answer_arguments(parser)


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    for arm in ("baseline", "candidate"):
        parser.add_argument(
            f"--{arm}", nargs="+", action="extend", required=True, metavar="RUN", help=f"scored runs of the {arm}"
        )
        parser.add_argument(f"--{arm}-m", type=whole_number, metavar="M", help=f"runs of the {arm} that must agree")
    parser.add_argument("--odds", action="store_true", help="also print what luck alone does at these m and n")
    _known_answer_arguments(parser)


def _intel_off_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME", help="the base profile (default: the active one)")
    parser.add_argument("--settings", metavar="JSON", help="stored settings (default: the built-in defaults)")
    parser.add_argument("--json", metavar="OUT", help="write the whole result to this file")


def _score(options: argparse.Namespace) -> int:
    from pytest_soclab.known_answer.commands import score

    return score(options)


def _gate(options: argparse.Namespace) -> int:
    from pytest_soclab.known_answer.commands import gate

    return gate(options)


def _intel_off(options: argparse.Namespace) -> int:
    from pytest_soclab.known_answer.commands import intel_off

    return intel_off(options)


LATEST = ".soclab/latest"
"""Where pytest puts the session that ended last, below the folder it was started in."""


def _folder_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=LATEST, help=f"a session's folder (default: {LATEST})"
    )


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    _folder_arguments(parser)
    parser.add_argument("--root", metavar="HASH", help="the evidence root that was kept elsewhere")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _folder_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print the bill and every red trial")


def _history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("home", metavar="HOME", nargs="?", default=".soclab", help="where the sessions are")
    parser.add_argument("--html", metavar="FILE", help="draw them as a page; each is verified before it is believed")


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", metavar="-- ARGS", nargs=argparse.REMAINDER, help="what pytest is given")


def _sessions(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        from pytest_soclab.cli import sessions

        status: int = getattr(sessions, name)(options)
        return status

    return run


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    _folder_arguments(parser)
    parser.add_argument("--previous", metavar="PATH", help="an earlier results.json: the differences are printed")
    parser.add_argument("--one-page", metavar="FILE", help="write one page that a lead can sign, and nothing else")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="the earlier results.json, or its folder")
    parser.add_argument("new", metavar="NEW", help="the later results.json, or its folder")
    parser.add_argument("--fail-if-worse", action="store_true", help="exit 1 where the new session is worse")
    parser.add_argument("--allow-corpus-change", action="store_true", help="the scenarios changed, and that is meant")


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="+", metavar="DIR", help="the artifacts of one session's shards")
    parser.add_argument("-o", "--out", required=True, metavar="DIR", help="the folder to write, new or empty")
    parser.add_argument("--require-level", choices=LEVELS, help="exit 1 below this recommended level")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print the bill of the next level, and every red trial"
    )


def _policy_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    for name, action in POLICY_ACTIONS.items():
        child = actions.add_parser(name, help=action.help, description=action.help, allow_abbrev=False)
        action.add_arguments(child)
        child.set_defaults(action=action.run)


def _asked_arguments(parser: argparse.ArgumentParser) -> None:
    _folder_arguments(parser)
    parser.add_argument(
        "--policies", metavar="DIR", help="the policy to ask (default: the bundled one, where the session ran under it)"
    )


def _replay_arguments(parser: argparse.ArgumentParser) -> None:
    _folder_arguments(parser)
    parser.add_argument("--policies", metavar="DIR", required=True, help="the policy to ask")


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder to write, new or empty")


def _stored(name: str) -> Callable[[argparse.Namespace], int]:
    """Return a function that runs one of `stored`'s, imported only then."""

    def run(options: argparse.Namespace) -> int:
        from pytest_soclab.cli import stored

        status: int = getattr(stored, name)(options)
        return status

    return run


def _reach_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="INCIDENT", help="incident files or folders (default: the bundled incidents)"
    )
    parser.add_argument("--level", choices=LEVELS, default="L5", help="the authority level (default L5)")
    parser.add_argument("--policies", metavar="DIR", help="the policy to ask (default: the bundled one)")


def _reach(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.reach import reach

    return reach(options)


def _mutate_arguments(parser: argparse.ArgumentParser) -> None:
    _asked_arguments(parser)
    parser.add_argument(
        "--seconds", type=whole_number, default=600, metavar="N", help="the time it may take (default 600)"
    )
    parser.add_argument(
        "--sample", type=whole_number, default=0, metavar="N", help="try N of the mutants, evenly spread (default: all)"
    )
    parser.add_argument("--own-tests", metavar="OPA", help="ask the policy's own Rego tests first, with this opa")
    parser.add_argument(
        "--least", type=whole_number, default=95, metavar="PERCENT", help="the share to be noticed (default 95)"
    )


POLICY_ACTIONS: dict[str, Command] = {
    "init": Command("Copy the bundled policy, tests included, as a start for your own.", _init_arguments,
                    _stored("policy_init")),
    "coverage": Command("List each deny rule with the trials in which it alone stops a call.", _asked_arguments,
                        _stored("policy_coverage")),
    "ablate": Command("Take each deny rule out in turn; exit 1 where the loss of one turns nothing red.",
                      _asked_arguments, _stored("policy_ablate")),
    "reach": Command("Try every single call of each incident; exit 1 on an outcome that it must not have.",
                     _reach_arguments, _reach),
    "mutate": Command("Change the policy piece by piece; exit 1 where too few changes are noticed.",
                      _mutate_arguments, _stored("policy_mutate")),
    "replay": Command("Decide a stored session under another policy.", _replay_arguments, _stored("policy_replay")),
}  # fmt: skip


def _policy(options: argparse.Namespace) -> int:
    status: int = options.action(options)
    return status


def _lint_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders (default: ./scenarios, else the bundled corpus)"
    )
    parser.add_argument("--policies", metavar="DIR", help="the policy whose reasons `stopped_by` names")
    parser.add_argument(
        "--no-self-check", "--no-witness", dest="no_witness", action="store_true",
        help="do not let the scenarios prove themselves",
    )  # fmt: skip
    parser.add_argument("--complete", action="store_true", help="a mandatory gate without an attack is a fault")


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    names = ("scenario", "incident", "results", "decision-input")
    parser.add_argument("name", nargs="?", choices=names, default="scenario", help="of what (default: scenario)")


def _new_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("ATK", "BEN"), help="an attack or a benign control")
    parser.add_argument("--id", metavar="ID", help="such as ATK-070 (default: the next free one)")
    parser.add_argument("--incident", metavar="NAME", default="identity-compromise", help="the world it plays in")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the folder to write to (default: scenarios/attacks or scenarios/controls)",
    )


def _incidents_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show what this incident holds (default: list all)")


def _incidents(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.incidents import incidents

    sys.stdout.write(incidents(options.name))
    return 0


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--incident", metavar="NAME", default="identity-compromise", help="the world to serve")
    parser.add_argument("--level", choices=LEVELS, default="L4", help="the authority level (default L4)")
    parser.add_argument("--policies", metavar="DIR", help="the policy that decides (default: the bundled one)")
    parser.add_argument(
        "--approver", choices=("rubber_stamp", "absent"), default="rubber_stamp", help="who answers for the human"
    )
    parser.add_argument("--transcript", metavar="FILE", help="keep the chained transcript here")


def _serve(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.serve import serve

    return serve(options)


def _lint(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.authoring import LintOptions, lint

    return _say(lint(LintOptions(options.paths, options.policies, not options.no_witness, options.complete)))


def _schema(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.authoring import schema

    return _say(schema(options.name))


def _new(options: argparse.Namespace) -> int:
    from pytest_soclab.cli.authoring import new

    return _say(new(options.kind, options.id, options.incident, options.output))


def _say(said: Said) -> int:
    sys.stdout.write(said.text)
    return said.status


COMMANDS: dict[str, Command] = {
    "lint": Command("Check scenario and incident files, alone and together.", _lint_arguments, _lint),
    "schema": Command("Print a JSON Schema.", _schema_arguments, _schema),
    "new": Command("Write the scaffold of a scenario.", _new_arguments, _new),
    "incidents": Command(
        "List the incidents, or one's accounts, hosts, ids and tools.", _incidents_arguments, _incidents
    ),
    "serve": Command("Serve one case over MCP to any client, as a playground.", _serve_arguments, _serve),
    "verify": Command("Check a stored session against its own evidence.", _verify_arguments, _stored("verify")),
    "report": Command("Write a stored session's report anew.", _report_arguments, _stored("report")),
    "compare": Command("Compare two stored sessions.", _compare_arguments, _stored("compare")),
    "merge": Command("Join the shards of one session.", _merge_arguments, _stored("merge")),
    "history": Command("List the stored sessions.", _history_arguments, _sessions("history")),
    "show": Command("Print a stored session's terminal section again.", _show_arguments, _sessions("show")),
    "diagnose": Command("Say why trials are red.", _folder_arguments, _sessions("diagnose")),
    "run": Command("Run pytest and fail where no finished session was written.", _run_arguments, _sessions("run")),
    "policy": Command("Ask what a policy's rules are good for.", _policy_arguments, _policy),
    "score": Command("Print scored runs: totals, beyond-human count, evidence.", _score_arguments, _score),
    "gate": Command("Fail when a candidate drops what its baseline found.", _gate_arguments, _gate),
    "intel-off": Command("Derive a profile with every lookup server withheld.", _intel_off_arguments, _intel_off),
}
"""Every subcommand by name; another is one more line here."""


if __name__ == "__main__":
    sys.exit(main())
