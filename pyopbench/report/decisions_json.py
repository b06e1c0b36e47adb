"""The decision report for programs, `decisions.json`.

Its keys:

    schema          number of this format; it grows when a key changes its meaning or goes
    run, created    name of the run and when it was made (ISO 8601)
    baseline        variant that stands for the current callback
    minimum_effect  share of the current time that is worth acting on
    mix             size, or dtype/size -> how often it is called; null if none was given
    requires        what a port had to be able to do (`--require`); empty if nothing was asked for
    decisions       fields of `decision.Decision`; `reason`, `caveats`, `would_change` and `copies` are findings, as in
                    `findings` and `copies_advice`: each a `kind` with its numbers; `text`: the same in words, for
                    people
    verdicts        fields of `decision.Verdict`; `ratio`, `low`, `high` as time of the case over time of the baseline;
                    `reason`: why it is open, a `kind` with the fields of that kind in `unresolved`; null if it is not
    splits          fields of `cost_components.Split`, in seconds per call; empty if no parts were measured.
                    `reason`: why there is no prediction, a `kind` with its fields; null where there is one
    limits          fields of `roofline.Limits`: what the machine can do at most; null if that was not measured
    bounds          fields of `roofline.Bound`, in seconds per call, and `share`; empty if no limits were measured
    step            fields of `program.Step`: calls and seconds of a step of the user's program; null if none given
    worths          fields of `program.Worth`: the op's share of that step and what each candidate saves
    failures        fields of `case.Failure`
    tool            what measured: `pyopbench`, `asv` or `pytest-benchmark`
    cannot          what results of another tool cannot support: `kind`, and the fields of that kind in `limitations`;
                    empty for a run of pyopbench
    warnings        what a reader should know about the files: `kind`, and the fields of that kind in `store.warnings`
    noise           fields of `noise.Disturbance`; `too_noisy`: whether verdicts are left open because launches
                    differ by too much for the minimum effect
    body_shares     fields of `cost_components.BodyShare`: what bodies alone take of the current time;
                    empty if not measured
    twins           fields of `decision.Verdict`, of callbacks that were measured a second time under another name: what
                    noise makes of identical code in this run; empty if none was
    machines        fields of `machines.MachineAnswers`: each decision by kind of machine, and by how much machines
                    differ; `text`: that in words; empty where all launches were on one machine
    devices         fields of `devices.DeviceComparison`: at each size the fastest variant on the CPU and on the
                    GPU, and where to run the op; empty if only one device was measured
    crc32           the checksum of the file, as results/README.md describes it; the last key

A number that does not exist (an interval from one launch) is null. The same judgement gives the same bytes.

The schema of the file (JSON Schema, draft 2020-12) is made from the nouns that the file is made of;
`docs/decisions.schema.json` is that schema, written by `pyopbench schema`.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from pyopbench.judge.cost_components import BodyShare, Split
from pyopbench.judge.decision import Decision, Verdict
from pyopbench.judge.devices import DeviceComparison
from pyopbench.judge.machines import MachineAnswers
from pyopbench.judge.noise import Disturbance
from pyopbench.judge.program import Step, Worth
from pyopbench.judge.roofline import Bound, Limits
from pyopbench.model.case import Failure
from pyopbench.model.errors import PyopbenchError
from pyopbench.store import integrity
from pyopbench.store.limitations import Limitation
from pyopbench.store.strict_json import without_nan
from pyopbench.store.warnings import RunWarning

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = 3
"""Number of the format; it grows when a key changes its meaning or goes.

`docs/decisions-json.md` says what each version changed.
"""
PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", types.NoneType: "null"}
TEXTS = {"type": "array", "items": {"type": "string"}}


def decisions_json(judgement: Judgement) -> str:
    """Return the text of `decisions.json`, with its checksum."""
    run = judgement.run
    document = {
        "schema": VERSION,
        "run": run.name,
        "created": run.created,
        "baseline": judgement.baseline,
        "minimum_effect": judgement.minimum_effect,
        "mix": judgement.mix and {_mix_key(key): weight for key, weight in judgement.mix.items()},
        "requires": judgement.requires,
        "decisions": [{**asdict(decision), "text": _text(decision)} for decision in judgement.decisions],
        "verdicts": [asdict(verdict) for verdict in judgement.verdicts],
        "splits": [asdict(split) for split in judgement.splits],
        "limits": judgement.limits and asdict(judgement.limits),
        "bounds": [{**asdict(bound), "share": bound.share} for bound in judgement.bounds],
        "step": judgement.step and asdict(judgement.step),
        "worths": [asdict(worth) for worth in judgement.worths],
        "failures": [asdict(failure) for failure in run.failures],
        "tool": run.tool,
        "cannot": [asdict(limitation) for limitation in run.cannot],
        "warnings": [asdict(warning) for warning in run.warnings],
        "noise": _noise(judgement.disturbance),
        "body_shares": [asdict(share) for share in judgement.body_shares],
        "twins": [asdict(pair) for pair in judgement.twins.pairs],
        "machines": [{**asdict(one), "text": one.text()} for one in judgement.machines],
        "devices": [asdict(one) for one in judgement.devices],
    }
    text = json.dumps(without_nan(document), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    return integrity.sealed(text).decode()


def _text(decision: Decision) -> dict[str, Any]:
    """Return in words what stands beside it as values; no program has to read it."""
    return {
        "answer": decision.answer_text(),
        "reason": decision.why(),
        "would_change": [flip.text() for flip in decision.would_change],
        "copies": [advice.text() for advice in decision.copies],
    }


def _mix_key(key: int | tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}" if isinstance(key, tuple) else str(key)


def _noise(disturbance: Disturbance) -> dict[str, Any]:
    return {**asdict(disturbance), "too_noisy": disturbance.too_noisy}


def schema() -> dict[str, Any]:
    """Return the schema of `decisions.json`."""
    word = {"type": "string"}
    words = _object({"answer": word, "reason": word, "would_change": TEXTS, "copies": TEXTS})
    text = {"text": {**words, "description": "The decision in words, for people; any version may put it differently."}}
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
        "decisions": _list_of(Decision, text),
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
        "body_shares": _list_of(BodyShare),
        "twins": _list_of(Verdict),
        "machines": _list_of(MachineAnswers, {"text": word}),
        "devices": _list_of(DeviceComparison),
        integrity.KEY: {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    }
    return {"$schema": DIALECT, "title": "pyopbench decisions.json", **_object(keys)}


def as_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def _object(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "required": sorted(keys), "additionalProperties": False}


def _list_of_any(kinds: Any) -> dict[str, Any]:
    """Return the schema of a list whose items are each of one of several dataclasses."""
    return {"type": "array", "items": _type(kinds)}


def _list_of(noun: type, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "array", "items": _fields(noun, more)}


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
