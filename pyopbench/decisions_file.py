"""The decision report for programs, `decisions.json`.

Its keys:

    schema          number of this format; it grows when a key changes its meaning or goes
    run, created    name of the run and when it was made (ISO 8601)
    baseline        variant that stands for the callback of today
    minimum_effect  relative difference that is worth acting on
    mix             size, or dtype/size -> how often it is called; null if none was given
    requires        what a port had to be able to do (`--require`); empty if nothing was asked for
    decisions       fields of `answers.Decision`, and `answer`: `keep`, `undecided`, `port to X` or `switch to X`
    verdicts        fields of `answers.Verdict`; `ratio`, `low`, `high` as time of the case over time of the baseline;
                    `reason`: why it is open, a `kind` with the fields of that kind in `unresolved`; null if it is not
    splits          fields of `split.Split`, in seconds per call; empty if no parts were measured
    limits          fields of `bounds.Limits`: what the machine can do at most; null if that was not measured
    bounds          fields of `bounds.Bound`, in seconds per call, and `share`; empty if no limits were measured
    step            fields of `worth.Step`: calls and seconds of a step of the user's program; null if none was given
    worths          fields of `worth.Worth`: the op's share of that step and what each candidate saves
    failures        fields of `model.Failure`
    tool            what measured: `pyopbench`, `asv` or `pytest-benchmark`
    cannot          what results of another tool cannot support: `kind`, and the fields of that kind in `limitations`;
                    empty for a run of pyopbench
    warnings        what a reader should know about the files: `kind`, and the fields of that kind in `warnings_of_run`
    noise           fields of `disturbance.Disturbance`; `too_noisy`: whether verdicts are left open because launches
                    differ by too much for the minimum effect

A number that does not exist (an interval from one launch) is null. The same judgement gives the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyopbench.published import VERSION

if TYPE_CHECKING:
    from pyopbench.decide import Judgement
    from pyopbench.disturbance import Disturbance


def decisions_json(judgement: Judgement) -> str:
    """Return the text of `decisions.json`."""
    run = judgement.run
    document = {
        "schema": VERSION,
        "run": run.name,
        "created": run.created,
        "baseline": judgement.baseline,
        "minimum_effect": judgement.minimum_effect,
        "mix": judgement.mix and {_mix_key(key): weight for key, weight in judgement.mix.items()},
        "requires": judgement.requires,
        "decisions": [{**asdict(decision), "answer": decision.answer} for decision in judgement.decisions],
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
    }
    return json.dumps(_plain(document), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _mix_key(key: int | tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}" if isinstance(key, tuple) else str(key)


def _noise(disturbance: Disturbance) -> dict[str, Any]:
    return {**asdict(disturbance), "too_noisy": disturbance.too_noisy}


def _plain(value: Any) -> Any:
    """Return the value as JSON knows it: text for keys, and None for numbers that do not exist."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
