"""Expressions with known answers, one for each proved builtin: they hold in OPA, and in the engine at hand or not.

What `proved` says was found with one version of the engine. An engine that lacks a builtin, or answers otherwise, would
take a condition for undefined; so a policy may use a builtin only when its expression here holds in the engine at hand.
Builtins whose answer depends on anything but their arguments (`time.now_ns`, `http.send`, `opa.runtime`, `rand.intn`)
are not among them, so that a recorded input gives the same decision again.
"""

from __future__ import annotations

PROBES: dict[str, str] = {
    "array.concat": "array.concat([1], [2]) == [1, 2]",
    "concat": 'concat("é", ["a", "b"]) == "aéb"',
    "contains": 'contains("aéb", "é") == true',
    "count": '[count([1, 2]), count({1, 1}), count({"a": 1}), count("é")] == [2, 1, 1, 1]',
    "endswith": 'endswith("aé", "é") == true',
    "is_array": "is_array([]) == true",
    "is_boolean": "is_boolean(false) == true",
    "is_null": "is_null(null) == true",
    "is_number": "is_number(1) == true",
    "is_object": "is_object({}) == true",
    "is_set": "is_set(set()) == true",
    "is_string": 'is_string("") == true',
    "object.get": '[object.get({"a": 2}, "a", 0), object.get({}, "a", 7)] == [2, 7]',
    "object.keys": 'object.keys({"a": 1}) == {"a"}',
    "regex.match": "[regex.match(`^[a-z.]+$`, `a.b`), regex.match(`^a\\.b$`, `axb`)] == [true, false]",
    "split": 'split("aéb", "é") == ["a", "b"]',
    "startswith": 'startswith("éa", "é") == true',
    "trim_prefix": 'trim_prefix("éa", "é") == "a"',
    "trim_suffix": 'trim_suffix("aé", "é") == "a"',
    "type_name": '[type_name(1), type_name(set()), type_name(null)] == ["number", "set", "null"]',
}
