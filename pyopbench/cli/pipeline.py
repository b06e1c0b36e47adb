"""`pyopbench pipeline`: the op inside a `tf.data` pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.listeners import pipeline_text
from pyopbench.cli.options import (
    JUDGING,
    LENGTH,
    USUAL_EFFECT,
    WHAT,
    AsJson,
    Baseline,
    Inputs,
    MinimumEffect,
    Quiet,
    SeedWith,
    TrustFolder,
    out_option,
)
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model.arrangement import AUTOTUNE, STEP_ELEMENTS
from pyopbench.model.discover import bring_own
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.ownership import require_own
from pyopbench.model.parse import parse_duration, parse_share, split_some

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import PipelineJudgement, TrainingStep

OneOp = Annotated[
    str,
    typer.Argument(metavar="OP", help="A built-in name, my_op.py, my_module.py:function or package.module:function."),
]
Parallel = Annotated[
    str,
    typer.Option(
        "--parallel",
        metavar="N,N",
        help="Values of num_parallel_calls to try. Default: 1, the cores, AUTOTUNE.",
        rich_help_panel=WHAT,
    ),
]
Batch = Annotated[
    str,
    typer.Option(
        "--batch", metavar="N,N", help="Batch sizes to try where the callback gets a batch.", rich_help_panel=WHAT
    ),
]


def pipeline(
    op: OneOp,
    inputs: Inputs = None,
    seed_with: SeedWith = "",
    size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Size of one element. Default: a middle size of the op.", rich_help_panel=WHAT),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="float32 or float64. Default: the first of the op.", rich_help_panel=WHAT),
    ] = None,
    parallel: Parallel = "",
    batch: Batch = "1,32,256",
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic/--any-order", help="Keep the order of elements in a parallel map?", rich_help_panel=WHAT
        ),
    ] = True,
    private_threads: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Threads of a private pool of the pipeline; 0 uses TensorFlow's pool.",
            rich_help_panel=WHAT,
        ),
    ] = 0,
    baseline: Baseline = None,
    step_ms: Annotated[
        float | None,
        typer.Option(
            "--step-ms",
            metavar="MS",
            help="How long a training step takes if its input is ready.",
            rich_help_panel=JUDGING,
        ),
    ] = None,
    step_elements: Annotated[
        int, typer.Option(min=1, metavar="N", help="Elements per training step.", rich_help_panel=JUDGING)
    ] = STEP_ELEMENTS,
    min_effect: MinimumEffect = USUAL_EFFECT,
    launches: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of launches (worker processes). Default: 5, or up to 8 if time is left.",
            rich_help_panel=LENGTH,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Stop measuring after this time, e.g. 3m.", rich_help_panel=LENGTH),
    ] = None,
    case_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Give up on an arrangement after this long without a sign of life.",
            rich_help_panel=LENGTH,
        ),
    ] = "30s",
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the random order of measurement.", rich_help_panel=LENGTH)
    ] = 0,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Report this pipeline.json again without measuring."),
    ] = None,
    out_dir: Annotated[Path | None, out_option("DIR", "Folder for pipeline.json and the report.")] = None,
    trust_folder: TrustFolder = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.engine import pipeline as pipelines
    from pyopbench.judge.pipeline import judge
    from pyopbench.store import pipeline_file

    step, effect = _read_step(step_ms, step_elements), parse_share("--min-effect", min_effect)
    if out_dir is not None:
        require_own(out_dir)
    if results is not None:
        document = pipeline_file.read(results)
    else:
        (name,) = bring_own([op], inputs or (), seed_with)
        chosen: dict[str, Any] = {
            "parallel": _read_numbers("--parallel", parallel) or pipelines.usual_parallel(),
            "budget_seconds": pipelines.BUDGET_SECONDS if budget is None else parse_duration(budget),
        }
        request = pipelines.PipelineRequest(
            name,
            size,
            dtype,
            batch=_read_numbers("--batch", batch),
            deterministic=deterministic,
            private_threads=private_threads,
            baseline=baseline or usual_baseline([name]),
            timeout_seconds=parse_duration(case_timeout),
            launches=launches,
            seed=seed,
            step_seconds=step.floor,
            minimum_effect=effect,
            **chosen,
        )
        with alone_on_this_machine(), err.status("starting") as status:
            document = pipelines.measure(request, lambda step: status.update(escape(pipeline_text(step))))
    judgement = judge(document, effect, step)
    if out_dir is not None:
        from pyopbench.report.write_pipeline import write

        write(judgement, out_dir)
        err.print(f"written: {out_dir}", soft_wrap=True, markup=False)
    if as_json:
        from pyopbench.report.pipeline import as_data

        out.print_json(json.dumps({**as_data(judgement), "measured": judgement.document}))
    else:
        _print(judgement)


def _read_step(milliseconds: float | None, elements: int) -> TrainingStep:
    from pyopbench.judge.pipeline import TrainingStep

    if milliseconds is not None and not 0 < milliseconds < math.inf:
        raise BadInput(
            "not a step",
            received=f"--step-ms {milliseconds:g}",
            legal="milliseconds above 0",
            hint="for example --step-ms 120 --step-elements 32",
        )
    return TrainingStep(elements, None if milliseconds is None else milliseconds / 1000)


def _read_numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list, AUTOTUNE among them; none for an empty text."""
    words = split_some(option, [text]) if text else []
    if not all(word.isdecimal() or (word.upper() == "AUTOTUNE" and option == "--parallel") for word in words):
        raise BadInput(
            f"{option} takes numbers",
            received=text,
            legal="whole numbers from 1, comma-separated; for --parallel also AUTOTUNE",
            hint="for example --parallel 1,4,AUTOTUNE --batch 1,32",
        )
    return tuple(dict.fromkeys(int(word) if word.isdecimal() else AUTOTUNE for word in words))


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
