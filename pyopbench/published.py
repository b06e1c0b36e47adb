"""The published schema of `decisions.json`: JSON Schema (draft 2020-12), made from the nouns that the file is made of.

`docs/decisions.schema.json` is this schema, written by `pyopbench schema`.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pyopbench.answers import Decision, Verdict
from pyopbench.bounds import Bound, Limits
from pyopbench.disturbance import Disturbance
from pyopbench.errors import PyopbenchError
from pyopbench.limitations import Limitation
from pyopbench.model import Failure
from pyopbench.split import Split
from pyopbench.warnings_of_run import RunWarning
from pyopbench.worth import Step, Worth

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = 2
"""Number of the format; it grows when a key changes its meaning or goes."""
PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", types.NoneType: "null"}
TEXTS = {"type": "array", "items": {"type": "string"}}


def schema() -> dict[str, Any]:
    """Return the schema of `decisions.json`."""
    answer = {"answer": {"type": "string", "pattern": "^(keep$|undecided$|(port|switch) to )"}}
    told = {"too_noisy": {"type": "boolean"}}
    share = {"share": {"type": ["number", "null"]}}
    keys = {
        "schema": {"const": VERSION},
        "run": {"type": "string"},
        "created": {"type": ["string", "null"]},
        "baseline": {"type": "string"},
        "minimum_effect": {"type": "number"},
        "mix": {"type": ["object", "null"], "additionalProperties": {"type": "number"}},
        "requires": TEXTS,
        "decisions": _list_of(Decision, answer),
        "verdicts": _list_of(Verdict),
        "splits": _list_of(Split),
        "limits": {"anyOf": [_fields(Limits), {"type": "null"}]},
        "bounds": _list_of(Bound, share),
        "step": {"anyOf": [_fields(Step), {"type": "null"}]},
        "worths": _list_of(Worth),
        "failures": _list_of(Failure),
        "tool": {"enum": ["pyopbench", "asv", "pytest-benchmark"]},
        "cannot": _list_of_any(Limitation),
        "warnings": _list_of_any(RunWarning),
        "noise": _fields(Disturbance, told),
    }
    return {"$schema": DIALECT, "title": "pyopbench decisions.json", **_object(keys)}


def as_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def _object(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "required": sorted(keys), "additionalProperties": False}


def _list_of(noun: type, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "array", "items": _fields(noun, more)}


def _list_of_any(kinds: Any) -> dict[str, Any]:
    """Return the schema of a list whose items are each of one of several dataclasses."""
    return {"type": "array", "items": _type(kinds)}


def _fields(noun: type, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a dataclass, with what is computed beside its fields."""
    hints = get_type_hints(noun)
    keys = {field.name: _type(hints[field.name]) for field in dataclasses.fields(noun)}
    return {**_object({**keys, **(more or {})}), "description": str(noun.__doc__).partition("\n")[0]}


def _type(hint: Any) -> dict[str, Any]:
    """Return the schema of a type; a float may be null, because JSON has no number for what does not exist."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(one) for one in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(inner[1])}
    if origin is not None and issubclass(origin, Sequence):
        return {"type": "array", "items": _type(inner[0])}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _fields(hint)
    if hint is float:
        return {"type": ["number", "null"]}
    if hint not in PLAIN:
        raise PyopbenchError("a field of decisions.json has a type that the schema does not know", received=hint)
    return {"type": PLAIN[hint]}
