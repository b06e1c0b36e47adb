"""Where and how it was measured and judged, how quiet the machine was, and the command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Code, Paragraph, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

OWN_TOOL = "pyopbench"


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the command, how it was measured and judged, and the environment."""
    run, machine, controls = judgement.run, judgement.machine, judgement.controls
    noise = [
        (machine.text(), False),
        (machine.warning_text(), True),
        (controls.text(), bool(controls.differing)),
    ]
    return (
        *brief(judgement),
        # Of a pipeline its own section says it.
        *((Paragraph(_measured(judgement)), Paragraph(_judged(judgement))) if run.pipeline is None else ()),
        *(Paragraph(text, "warn" if is_warning else "") for text, is_warning in noise if text),
        _facts("Environment", run.environment),
        *((_facts("Settings", msgspec.to_builtins(run.settings)),) if run.command else ()),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return when it ran with what, and the command that repeats it."""
    run = judgement.run
    version = run.environment.get("tensorflow") or "of an unknown version"
    text = f"Run {run.name}, {formatting.moment(run.created or '') or 'on an unknown day'}, TensorFlow {version}"
    if not run.command:  # other tools do not record it
        return (Paragraph(f"{text}, by {run.tool}."),)
    return Paragraph(f"{text}:"), Code(shlex.join(run.command))


def _measured(judgement: Judgement) -> str:
    frame = judgement.run.frame
    cases = formatting.count(frame["case"].nunique(), "case")
    if judgement.run.tool != OWN_TOOL:
        return (
            f"{cases} timed by {judgement.run.tool} with its own clock, one after the other. What is timed is the "
            "prepared call of pyopbench, whose values and gradients were checked."
        )
    launches = formatting.count(len(frame[["run", "launch"]].drop_duplicates()), "launch", "launches")
    blocks = frame.groupby(["case", "run", "launch"], sort=True).size()
    each = formatting.size_range(blocks.min(), blocks.max()) if len(blocks) else "no"
    return (
        f"{cases} timed in {launches}, each a fresh process, with {each} timed blocks per case and launch. Variants of "
        "one op, size, dtype and mode are interleaved in balanced random order, so that drift of the machine affects "
        "all of them alike. Values and gradients are checked before anything is timed. Backward is timed directly, not "
        "as a difference of totals. More in docs/how-it-measures.md."
    )


def _judged(judgement: Judgement) -> str:
    effect, twice = (formatting.percent(many * judgement.minimum_effect) for many in (1, 2))
    mix = "Over sizes, the callback's time is spread evenly over the logarithm of the size."
    if judgement.mix is not None:
        calls = [f"{formatting.number(weight)} of {_key(key)}" for key, weight in judgement.mix.items()]
        mix = f"Over sizes, calls are mixed as you gave them: {', '.join(calls)}."
    return (
        "Each launch gives one number per case, and only launches count as independent. "
        "Verdicts of one op and use are corrected together, so that the chance of any false one among them is at most "
        f"5%. Faster or slower means a difference of clearly more than {effect}, equivalent "
        f"clearly less; anything else is unresolved. {mix} The answer is the variant that takes the least work among "
        f"those that cost little more than the best: at most {effect} of the current time plus a standard error, and "
        f"never more than {twice}; and a change must clearly save more than {effect}. More in docs/statistics.md."
    )


def _key(key: int | tuple[str, int]) -> str:
    return f"{formatting.size(key[1])} in {key[0]}" if isinstance(key, tuple) else formatting.size(key)


def _facts(title: str, facts: Mapping[str, Any]) -> Table:
    rows = tuple((name, _shown(name, value)) for name, value in sorted(_flat(facts).items()))
    return Table(("name", "value"), rows, title, folded=True)


def _flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one level: `{"a": {"b": 1}}` is `{"a.b": 1}`."""
    result: dict[str, Any] = {}
    for key, value in facts.items():
        name = f"{prefix}{key}"
        result.update(_flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value})
    return result


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_bytes"):
            return formatting.byte_count(value)
        if name.endswith("_seconds"):
            return formatting.seconds(value)
        return f"{value:,}" if isinstance(value, int) else formatting.number(value)
    if isinstance(value, list | tuple):
        return ", ".join(_shown(name, one) for one in value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
