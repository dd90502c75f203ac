"""The command line `soclab`: one table of commands, each of which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from pytest_soclab.errors import SoclabError, printable

PROGRAM = "soclab"
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
    parser = _Parser(prog=PROGRAM, description=__doc__, allow_abbrev=False)
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
    parser.add_argument("--json", metavar="OUT", help="write the whole result to this file")


def _score_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a scored run: score.md, calibration.json or blind:NAME")
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


COMMANDS: dict[str, Command] = {
    "score": Command("Print scored runs: totals, beyond-human count, evidence.", _score_arguments, _score),
    "gate": Command("Fail when a candidate drops what its baseline found.", _gate_arguments, _gate),
    "intel-off": Command("Derive a profile with every lookup server withheld.", _intel_off_arguments, _intel_off),
}
"""Every subcommand by name; another is one more line here."""


if __name__ == "__main__":
    sys.exit(main())
