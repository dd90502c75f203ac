"""What the commands about stored sessions do, verify, report, compare, merge, and those that ask a policy.

Each returns the exit status; text goes to standard output, errors are raised for the command line to print.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_soclab.audit import rebuild
from pytest_soclab.audit import verify as audit
from pytest_soclab.base import resources
from pytest_soclab.base.errors import ArtifactError, Fault, UsageError, printable
from pytest_soclab.evidence.store import load_results
from pytest_soclab.report.words import count

if TYPE_CHECKING:
    from pytest_soclab.evidence.results import Results
    from pytest_soclab.policy.model import PolicySource


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def verify(options: argparse.Namespace) -> int:
    """Check a session against its own log, transcripts and inputs; 1 where something does not hold."""
    found = audit.verify(Path(options.folder), options.root or "")
    _say(*found.notes)
    if found.faults:
        _say(*found.faults, f"{count(len(found.faults), 'fault')} in {count(found.trials, 'trial')}")
        return 1
    _say(f"{found.trials} trials and {found.events} events hold, and the results follow from them")
    _say(f"evidence root {found.root}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Write a stored session's report and summary anew, or its first page alone where a file for it is named."""
    from pytest_soclab.report import compare as comparison

    folder = Path(options.folder)
    if options.one_page:
        return _one_page(folder, Path(options.one_page))
    _say(*(str(path) for path in rebuild.rebuild(folder)))
    if options.previous:
        found = comparison.compare(load_results(Path(options.previous)), load_results(folder))
        sys.stdout.write(comparison.render(found))
    return 0


def _one_page(folder: Path, target: Path) -> int:
    from pytest_soclab.report import html

    return write_page(html.one_page(load_results(folder)), target)


def write_page(page: str, target: Path) -> int:
    """Write a page to a file that a user named, and say where.

    Raises:
        ArtifactError: when it cannot be written.
    """
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArtifactError(Fault(f"the page cannot be written ({error.strerror})", str(target))) from None
    _say(str(target))
    return 0


def compare(options: argparse.Namespace) -> int:
    """Compare two stored sessions; 1 where the new one is worse and that is to fail."""
    from pytest_soclab.report import compare as comparison

    old, new = _held(Path(options.old)), _held(Path(options.new))
    found = comparison.compare(old, new, other_corpus=options.allow_corpus_change)
    sys.stdout.write(comparison.render(found))
    return 1 if found.worse and options.fail_if_worse else 0


def _held(path: Path) -> Results:
    """Return results that follow from their session's evidence; a file alone is taken at its word, which is said.

    Raises:
        ArtifactError: when a session does not verify.
    """
    if not path.is_dir():
        sys.stderr.write(printable(f"{path}: results without their session are not verified") + "\n")
        return load_results(path)
    if faults := audit.verify(path).faults:
        raise ArtifactError(*faults)
    return load_results(path)


def merge(options: argparse.Namespace) -> int:
    """Join the shards of one session; 1 where it is incomplete, a gate failed or the required level is not reached."""
    from pytest_soclab.base.settings import Settings
    from pytest_soclab.report import terminal
    from pytest_soclab.session.recorder import failures

    results = rebuild.merge_folders([Path(folder) for folder in options.shards], Path(options.out))
    _say(*(line.text for line in terminal.render(results, verbosity=int(options.verbose))))
    failed = failures(results, Settings(require_level=options.require_level))
    if results.counts.run < results.counts.corpus:
        scenarios = f"{results.counts.run} of {results.counts.corpus} scenarios"
        failed.append(f"the session is incomplete: these shards hold {scenarios}; merge all of its shards")
    red = [trial.id for trial in results.trials if not trial.passed]
    _say(*(f"session failed: {text}" for text in failed), f"report: {Path(options.out) / 'report.html'}")
    return 1 if failed or red else 0


def policy_coverage(options: argparse.Namespace) -> int:
    """List each deny rule with the scenarios that it alone stops."""
    from pytest_soclab.policy.ablation import coverage

    source = _asked(options)
    _say("alone stops: trials with a call that this rule denies and no other. What `soclab policy ablate` calls missed")
    _say("when gone is more: it counts trials, too, that lose the reason that their `stopped_by` names")
    rules = source.rules
    reasons = list(dict.fromkeys(rule.reason for rule in rules))
    found = coverage(rebuild.decisions(Path(options.folder)), reasons)
    for reason, trials in found.items():
        _say(f"{reason}: {_some(trials) if trials else 'alone stops nothing'}")
    alone = sum(bool(trials) for trials in found.values())
    _say(f"{alone} of {len(reasons)} deny rules alone stop a call")
    return 0


def policy_ablate(options: argparse.Namespace) -> int:
    """Take each deny rule out in turn; 1 where the removal of one turns nothing red."""
    from pytest_soclab.policy.ablation import ablate

    found = ablate(_asked(options), rebuild.decisions(Path(options.folder)))
    _say("missed when gone: trials that then get a call through, or lose the reason that their `stopped_by` names")
    for item in found:
        red = sorted({*item.opened, *item.renamed})
        _say(f"{item.reason}: {_some(red) if red else 'its removal turns nothing red'}")
    idle = [item.reason for item in found if not item.missed]
    _say(f"{len(found) - len(idle)} of {len(found)} deny rules are missed when they are gone")
    return 1 if idle else 0


def policy_mutate(options: argparse.Namespace) -> int:
    """Change the policy piece by piece; 1 where fewer changes than wanted are noticed."""
    from pytest_soclab.cli.mutate import mutate

    return mutate(options, _asked(options))


def policy_replay(options: argparse.Namespace) -> int:
    """Decide a stored session under another policy and list what changes; 1 where something is newly allowed."""
    from pytest_soclab.policy.ablation import replay

    found = replay(_asked(options), rebuild.decisions(Path(options.folder)))
    for name, differences in (("newly allowed", found.allowed), ("newly blocked", found.blocked)):
        _say(f"{name}: {len(differences)}")
        for difference in differences:
            record, decision = difference.record, difference.decision
            reasons = ", ".join((decision.reasons if decision else ("no answer",)) or record.decision.reasons)
            _say(f"  {record.trial} call {record.call} {record.input['tool']['name']} ({reasons})")
    _say(f"allowed with other obligations: {len(found.obliged)}")
    return 1 if found.allowed else 0


def policy_init(options: argparse.Namespace) -> int:
    """Copy the bundled policy into a new folder, with the tests that `opa test` runs."""
    folder = Path(options.folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(Fault("found files", options.folder, expected="a new or empty folder"))
    try:
        shutil.copytree(resources.policies(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    except OSError as error:
        raise ArtifactError(Fault(f"the policy cannot be written ({error})", options.folder)) from None
    files = count(sum(path.is_file() for path in folder.rglob("*")), "file")
    _say(f"{options.folder}: {files}", f"Change data.yaml, then run: pytest --soclab-policies={options.folder}")
    return 0


def _asked(options: argparse.Namespace) -> PolicySource:
    """Return the policy to ask, and say which one it is and whether the session ran under it.

    Raises:
        UsageError: when the session ran under another policy than the bundled one and none was named.
    """
    from pytest_soclab.policy.load import load_policy

    source = load_policy(Path(options.policies) if options.policies else resources.policies())
    results = load_results(Path(options.folder))
    ran, asked = results.digests.policy, f"{options.policies or 'the bundled policy'} ({source.digest[:12]})"
    if ran in ("", source.digest):  # a session without a control plane asked none
        _say(f"asked: {asked}" + (", the policy of the session" if ran else ""))
        return source
    other = f"{results.policy.source} ({ran[:12]})"
    if not options.policies:
        found = f"found a session under the policy {other}, which is not {asked}"
        raise UsageError(Fault(found, options.folder, remedy="name the policy to ask: --policies DIR"))
    _say(f"asked: {asked}, which is not the policy of the session: {other}")
    return source


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
