"""The decision report for programs, `decisions.json`.

Its keys:

    schema          number of this format; it grows when a key changes its meaning or goes
    run, created    name of the run and when it was made (ISO 8601)
    baseline        variant that stands for the current callback
    minimum_effect  share of the current time that is worth acting on
    mix             size, or dtype/size -> how often it is called; null if none was given
    requires        what a port had to be able to do (`--require`); empty if nothing was asked for
    decisions       fields of `decision.Decision`; `reason` and `caveats` are findings, as in `findings`: each a `kind`
                    with its numbers; `text`: the same in words, for people
    verdicts        fields of `decision.Verdict`; `ratio`, `low`, `high` as time of the case over time of the baseline;
                    `reason`: why it is open, a `kind` with the fields of that kind in `unresolved`; null if it is not
    failures        fields of `case.Failure`
    tool            what measured: `pyopbench`, `asv` or `pytest-benchmark`
    cannot          what results of another tool cannot support: `kind`, and the fields of that kind in `limitations`;
                    empty for a run of pyopbench
    warnings        what a reader should know about the files: `kind`, and the fields of that kind in `store.warnings`
    noise           fields of `noise.MachineState`: how busy the machine was; null if that is not known
    body_shares     fields of `body_share.BodyShare`: what bodies alone take of the current time;
                    empty if not measured
    twins           fields of `decision.Verdict`, of callbacks that were measured a second time under another name: what
                    noise makes of identical code in this run; empty if none was
    devices         fields of `devices.DeviceComparison`: at each size the fastest variant on the CPU and on the
                    GPU, and where to run the op; empty if only one device was measured

A number that does not exist (an interval from one launch) is null. The same judgement gives the same bytes.

"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyopbench.judge.decision import Decision
from pyopbench.store.json_file import without_nan

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

VERSION = 3
"""Number of the format; it grows when a key changes its meaning or goes."""


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
        "decisions": [{**asdict(decision), "text": _text(decision)} for decision in judgement.decisions],
        "verdicts": [asdict(verdict) for verdict in judgement.verdicts],
        "failures": [asdict(failure) for failure in run.failures],
        "tool": run.tool,
        "cannot": [asdict(limitation) for limitation in run.cannot],
        "warnings": [asdict(warning) for warning in run.warnings],
        "noise": judgement.machine and {**asdict(judgement.machine), "is_quiet": judgement.machine.is_quiet},
        "body_shares": [asdict(share) for share in judgement.body_shares],
        "twins": [asdict(pair) for pair in judgement.twins.pairs],
        "devices": [asdict(one) for one in judgement.devices],
    }
    text = json.dumps(without_nan(document), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    return text + "\n"


def _text(decision: Decision) -> dict[str, Any]:
    """Return in words what stands beside it as values; no program has to read it."""
    return {
        "answer": decision.answer.text(),
        "reason": decision.why(),
    }


def _mix_key(key: int | tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}" if isinstance(key, tuple) else str(key)
