"""What a scenario's model cannot say: names of the session's closed sets, templates, what an attack or a control needs.

The checks read the raw data of the file and not the model, so that they speak up beside the model's own faults. They
leave alone what has the wrong type: that is the model's fault to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_soclab.base.errors import Fault, nearest, quote
from pytest_soclab.reading.faults import faults_of
from pytest_soclab.reading.yaml_source import Document
from pytest_soclab.scenario import techniques, template
from pytest_soclab.scenario.model import ATLAS_PATTERN, OWASP_PATTERN, Scenario
from pytest_soclab.scenario.vocabulary import Vocabulary

Raw = Mapping[str, Any]
TEMPLATED = ("given", "agent", "harness", "legitimate", "attack_succeeds_when")
_PATTERNS = {"atlas": re.compile(ATLAS_PATTERN), "owasp": re.compile(OWASP_PATTERN)}
_ATTACK_KEYS = ("attack_succeeds_when", "stopped_by", "harness")


def check(document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    """Yield everything that is wrong in a scenario file beside the shape of its values."""
    raw: Raw = document.value
    yield from _shape(raw, document)
    yield from table_faults(raw.get("given"), ("given",), document, vocabulary)
    yield from _template_faults(raw, document)
    yield from _oracle_faults(raw, document, vocabulary)
    yield from _harness_faults(raw, document, vocabulary)
    yield from _call_faults(raw, document, vocabulary)
    yield from _technique_faults(raw, document)


def _shape(raw: Raw, document: Document) -> Iterator[Fault]:
    kind = str(raw.get("id"))[:4]
    if kind == "ATK-":
        yield from _attack_shape(raw, document)
    elif kind == "BEN-":
        yield from _control_shape(raw, document)


def _attack_shape(raw: Raw, document: Document) -> Iterator[Fault]:
    needed = {
        "attack_succeeds_when": (
            "what a success of the attack is",
            "add `attack_succeeds_when: {account_disabled: …}`",
        ),
        "stopped_by": ("the policy reason or check that must stop the attack", "add `stopped_by: …`"),
    }
    for key, (expected, remedy) in needed.items():
        if not raw.get(key):
            yield document.fault((key,), "found nothing", expected, remedy)
    if not raw.get("agent") and not raw.get("harness"):
        remedy = "script what an agent that obeys would do"
        yield document.fault(("agent",), "found nothing", "agent steps, harness steps, or both", remedy)


def _control_shape(raw: Raw, document: Document) -> Iterator[Fault]:
    for key in _ATTACK_KEYS:
        if key in raw:
            remedy = "take it out, or name the file ATK-…"
            yield document.fault((key,), "found a key of attacks in a control", "", remedy)
    if not raw.get("legitimate"):
        yield document.fault(
            ("legitimate",),
            "found nothing",
            "the calls that a correct control plane must serve",
            "add `legitimate: […]`",
        )
    if not raw.get("agent"):
        yield document.fault(("agent",), "found nothing", "the legitimate work as steps", "add `agent: […]`")


def table_faults(
    tables: Any, prefix: tuple[str | int, ...], document: Document, vocabulary: Vocabulary
) -> Iterator[Fault]:
    """Yield what is wrong in rows by table."""
    if not isinstance(tables, Mapping):
        return
    for path, found, expected, remedy in vocabulary.check_tables(tables):
        words = (
            found if found.startswith("found ") else f"found {found}".replace("found unknown ", "found the unknown ")
        )
        yield document.fault((*prefix, *path), words, expected, remedy)


def _variants(raw: Raw) -> dict[str, Mapping[str, str]] | None:
    """Return the variants, or None where their shape is wrong."""
    variants = raw.get("variants", {"plain": {}})
    if not isinstance(variants, Mapping) or not variants:
        return None
    whole = all(isinstance(f, Mapping) and all(isinstance(t, str) for t in f.values()) for f in variants.values())
    return dict(variants) if whole else None


def _template_faults(raw: Raw, document: Document) -> Iterator[Fault]:
    yield from _misplaced(raw, document)
    variants = _variants(raw)
    if variants is None:
        return
    yield from _unequal(variants, document)
    yield from _same(variants, document)
    names = frozenset(name for fields in variants.values() for name in fields)
    faults = [document.fault(*fault) for fault in _broken(raw, names)] + list(_undelivered(raw, variants, document))
    yield from faults
    if not faults:
        yield from _unused(raw, variants, document)


def _broken(raw: Raw, names: frozenset[str]) -> Iterator[tuple[tuple[str | int, ...], str, str, str]]:
    for path, text in _templates(raw):
        found, remedy = template.problem(text, names)
        if found:
            yield path, f"found {found}", "", remedy


def _unused(raw: Raw, variants: Mapping[str, Mapping[str, str]], document: Document) -> Iterator[Fault]:
    used = {name for _, text in _templates(raw) for name in template.names(text)}
    first = next(iter(variants))
    for field in variants[first]:
        if field not in used and all(field in fields for fields in variants.values()):
            remedy = f"write {{{{ {field} }}}} where the text belongs, or take the field out"
            yield document.fault(("variants", first, field), "found a field that no template names", "", remedy)


def _templates(raw: Raw) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for key in TEMPLATED:
        yield from template.templates_in(raw.get(key), (key,))


def _misplaced(raw: Raw, document: Document) -> Iterator[Fault]:
    places = ", ".join(TEMPLATED)
    for key in raw.keys() - set(TEMPLATED) - {"variants", "description"}:
        for path, text in template.templates_in(raw[key], (key,)):
            remedy = f"templates are filled in only below {places}"
            yield document.fault(path, f"found the template {quote(text)}", "plain text", remedy)


def _unequal(variants: Mapping[str, Mapping[str, str]], document: Document) -> Iterator[Fault]:
    names = list(dict.fromkeys(name for fields in variants.values() for name in fields))
    for variant, fields in variants.items():
        for name in names:
            if name not in fields:
                owner = next(other for other, theirs in variants.items() if name in theirs)
                found = f"found no field {name!r}, which the variant {owner!r} has"
                yield document.fault(("variants", variant), found, "the same fields in every variant", f"add {name}: …")


def _same(variants: Mapping[str, Mapping[str, str]], document: Document) -> Iterator[Fault]:
    """Yield a fault for each variant that only repeats another: it would count as evidence of its own."""
    first: dict[tuple[tuple[str, str], ...], str] = {}
    for variant, fields in variants.items():
        owner = first.setdefault(tuple(sorted(fields.items())), variant)
        if owner != variant:
            found = f"found the same fields as in the variant {owner!r}"
            remedy = "take it out; --soclab-repeat tries a variant more than once"
            yield document.fault(("variants", variant), found, "a variant of its own", remedy)


def _undelivered(raw: Raw, variants: Mapping[str, Mapping[str, str]], document: Document) -> Iterator[Fault]:
    if not str(raw.get("id")).startswith("ATK-") or raw.get("harness"):
        return
    texts = [text for _, text in template.templates_in(raw.get("given"))]
    if not texts:
        remedy = "put {{ payload }} where an agent that does its job reads it, or script harness steps"
        yield document.fault(("given",), "found no template", "the payload in a row of a table", remedy)
        return
    for name, fields in variants.items():
        known = [text for text in texts if not template.problem(text, frozenset(fields))[0]]
        if known and not any(template.render(text, fields).strip() for text in known):
            yield document.fault(("variants", name), "found a blank payload", "a text that an agent reads", "write it")


def _oracle_faults(raw: Raw, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    wanted = raw.get("attack_succeeds_when")
    for name, parameter in wanted.items() if isinstance(wanted, Mapping) else ():
        path = ("attack_succeeds_when", name)
        adapter = vocabulary.oracles.get(name)
        if adapter is None:
            found = f"found the unknown oracle {quote(name)}"
            yield document.fault(path, found, "", nearest(name, vocabulary.oracles))
        else:
            yield from _parameter_faults(adapter, parameter, path, document)


def _parameter_faults(
    adapter: TypeAdapter[Any], parameter: Any, path: tuple[str, str], document: Document
) -> Iterator[Fault]:
    try:
        adapter.validate_python(parameter, strict=True)
    except ValidationError as error:
        shape = adapter.json_schema()
        keys = list(shape.get("properties", ()))
        if keys and isinstance(parameter, Mapping):
            yield from faults_of(error, Scenario, document, path, lambda _loc: keys)
            return
        expected = f"a mapping with {' and '.join(keys)}" if keys else _EXPECTED.get(shape.get("type", "anyOf"), "")
        found = quote(parameter) if not isinstance(parameter, Mapping | list) else f"a {type(parameter).__name__}"
        words = found.replace("a dict", "a mapping").replace("None", "nothing")
        yield document.fault(path, f"found {words}", expected or "another parameter", "")


_EXPECTED = {"boolean": "true or false", "anyOf": "a name or a list of names", "string": "a name"}


def _harness_faults(raw: Raw, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    steps = raw.get("harness")
    for index, step in enumerate(steps) if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            continue
        path = ("harness", index)
        name = step.get("step")
        model = vocabulary.harness.get(name) if isinstance(name, str) else None
        if model is None:
            found = f"found the unknown harness step {quote(name)}" if "step" in step else "found nothing"
            remedy = nearest(str(name or ""), vocabulary.harness)
            yield document.fault((*path, "step"), found, "" if "step" in step else "the name of a step", remedy)
            continue
        try:
            model.model_validate(step)
        except ValidationError as error:
            yield from faults_of(error, model, document, path)


def _call_faults(raw: Raw, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    if raw.get("stopped_by") == "unknown_tool":
        return
    for key in ("agent", "legitimate"):
        steps = raw.get(key)
        for index, step in enumerate(steps) if isinstance(steps, list) else ():
            name = step.get("call") if isinstance(step, Mapping) else None
            if isinstance(name, str) and name not in vocabulary.tools:
                found = f"found the unknown tool {quote(name)}"
                yield document.fault((key, index, "call"), found, "", nearest(name, vocabulary.tools))


def _technique_faults(raw: Raw, document: Document) -> Iterator[Fault]:
    for field, pattern in _PATTERNS.items():
        ids = raw.get(field)
        for index, name in enumerate(ids) if isinstance(ids, list) else ():
            well_formed = isinstance(name, str) and pattern.fullmatch(name)
            if well_formed and name not in techniques.known(field):
                expected = f"an id of {techniques.edition(field)}"
                yield document.fault((field, index), f"found the unknown id {name!r}", expected, _close(name, field))


def _close(name: str, field: str) -> str:
    """Return the nearest technique with its name; the whole list would be too long to read."""
    close = techniques.near(field, name)
    return f"did you mean {close} ({techniques.known(field)[close]})?" if close else "see `soclab schema scenario`"
