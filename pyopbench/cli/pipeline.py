"""`pyopbench pipeline`: the op inside a `tf.data` pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine, pipeline_text
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model.discover import bring_own
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.ownership import require_own

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import PipelineJudgement, TrainingStep


def pipeline(
    *,
    op: str,
    inputs: Sequence[str],
    seed_with: str,
    parallel: tuple[int, ...],
    batch: tuple[int, ...],
    baseline: str | None,
    step_seconds: float | None,
    step_elements: int,
    minimum_effect: float,
    budget_seconds: float | None,
    settings: Any,
    results: Path | None,
    out_path: Path | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.engine import pipeline as pipelines
    from pyopbench.judge.pipeline import judge
    from pyopbench.store import pipeline_file

    rare = dict(settings)
    step = _read_step(step_seconds, step_elements)
    if out_path is not None:
        require_own(out_path)
    if results is not None:
        document = pipeline_file.read(results)
    else:
        (name,) = bring_own([op], inputs, seed_with)
        request = pipelines.PipelineRequest(
            name,
            parallel=parallel or pipelines.usual_parallel(),
            batch=batch,
            baseline=baseline or usual_baseline([name]),
            timeout_seconds=rare.get("case_timeout", pipelines.TIMEOUT_SECONDS),
            seed=rare.get("seed", 0),
            step_seconds=step.floor,
            minimum_effect=minimum_effect,
            budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
            **wanted,
        )
        with alone_on_this_machine(), err.status("starting") as status:
            document = pipelines.measure(request, lambda step: status.update(escape(pipeline_text(step))))
    judgement = judge(document, minimum_effect, step)
    if out_path is not None:
        from pyopbench.report.write_pipeline import write

        write(judgement, out_path)
        err.print(f"written: {out_path}", soft_wrap=True, markup=False)
    if as_json:
        from pyopbench.report.pipeline import as_data

        out.print_json(json.dumps({**as_data(judgement), "measured": judgement.document}))
    else:
        _print(judgement)


def _read_step(seconds: float | None, elements: int) -> TrainingStep:
    from pyopbench.judge.pipeline import TrainingStep

    if seconds is not None and not 0 < seconds < math.inf:
        raise BadInput(
            "a step takes more than 0 milliseconds",
            received=f"--step-ms {1000 * seconds:g}",
            hint="for example --step-ms 120 --step-elements 32",
        )
    return TrainingStep(elements, seconds)


def _print(judgement: PipelineJudgement) -> None:
    from pyopbench.report.pipeline import report_of

    report = report_of(judgement)
    print_table(report.title, report.columns, report.rows)
    out.print(f"[bold]{escape(report.answer)}[/]", soft_wrap=True)
    for sentence in report.sentences:
        say(escape(sentence))
    _print_left_out(report.left_out)


def _print_left_out(left_out: Sequence[tuple[str, str]]) -> None:
    if left_out:
        out.print("\n[italic]Not measured[/]")
    for keys, reason in left_out:
        say(escape(keys))
        say(escape(reason), mark="  ")
