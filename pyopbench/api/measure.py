"""Measures ops from Python: `pyopbench.run` and `resume`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.judging import Mix, effect_of, judging_of
from pyopbench.api.listeners import listener_here
from pyopbench.api.own_function import Inputs, Op, brought_op, forget_shipped
from pyopbench.api.request_checks import require_launches, require_list, require_revisable
from pyopbench.api.several_results import AnyResult, result_of
from pyopbench.engine import measure, memory, plan, stored_run
from pyopbench.engine.revision_request import RevisionRequest, check_revisions
from pyopbench.engine.settings import settings_for
from pyopbench.judge.judge import Judging
from pyopbench.model.case import BASELINE, Axes, Until
from pyopbench.model.errors import BadInput, Interrupted
from pyopbench.model.option_text import asked_from_python
from pyopbench.model.options import RESUME, RUN, describe_arguments, read_settings
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.ownership import require_own
from pyopbench.store import run_folder, versions

SETTINGS_OF_RUN = ("case_timeout", "linearity", "rounds", "seed")
"""Keys of `settings`; the others of the command line are about shards and about reading."""


@asked_from_python()
@describe_arguments(RUN)
def run(  # noqa: PLR0913 - each is an option, and all but the op have a default
    op: Op,
    inputs: Inputs = None,
    *,
    quick: bool = False,
    variants: Sequence[str] = (),
    gradients: Sequence[str] = (),
    directions: Sequence[str] = (),
    modes: Sequence[str] = (),
    dtypes: Sequence[str] = ("float32",),
    sizes: Sequence[int] = (),
    device: str = "cpu",
    baseline: str | None = None,
    minimum_effect: float | None = None,
    mix: Mix = None,
    requires: Sequence[str] = (),
    calls_per_step: float | None = None,
    step_seconds: float | None = None,
    tf: Sequence[str] = (),
    rev: Sequence[str] = (),
    every: int = 1,
    fail_on: str | None = None,
    budget_seconds: float | None = None,
    launches: int | None = None,
    until: Until | None = None,
    memory_limit_bytes: int | None = None,
    seed_with: str = "",
    parts: bool | None = None,
    probes: bool = True,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> AnyResult:
    """Measure an op in all variants, store the samples and judge them: `pyopbench run` from Python.

    Workers are processes of their own. A function of a module is imported there; the source of a function of a
    notebook or script is written into the folder of the run, with the imports, constants and functions that it uses.

    Args:
        op: the body of the current callback: a function that takes NumPy arrays and returns an array or a tuple of
            arrays. Or what the command line takes: a built-in name, `"my_op.py"`, `"my_module.py:function"`.
        inputs: an example of each argument of a function: a sequence by position, a mapping by name, or the only
            array. Any shape; any dtype without objects. None for an op that is named.
        {options}
        dtypes: of the inputs of a built-in op.
        sizes: of a built-in op; its own if empty.
        out: a new folder for the results; None for `results/DATE`.
        progress: show how it goes, on stderr or in the output of the notebook's cell.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`; with `tf` a `VersionsResult`,
        with `rev` a `RevisionsResult`. The samples are in its folder.

    Raises:
        BadInput: something cannot be measured as it is; the message says what can.
        NothingMeasured: no case has a sample; with the first reason.
        Interrupted: Ctrl-C; what was finished is stored, and the message says how to continue.

    >>> pyopbench.run(my_function, [np.zeros((100, 3), np.float32)], quick=True)  # doctest: +SKIP
    """
    rare = read_settings(SETTINGS_OF_RUN, settings or {})
    effect = effect_of(minimum_effect, fail_on, is_over_revisions=bool(rev))
    judging = judging_of(baseline or BASELINE, effect, mix, requires, calls_per_step, step_seconds)
    require_list("rev", rev)
    require_list("tf", tf)
    check_revisions(rev, tf, fail_on, every, effect)
    require_revisable(op, rev)
    require_launches(launches)
    if memory_limit_bytes is not None:
        memory.require_limitable(memory_limit_bytes)
    folder = plan.new_folder() if out is None else Path(out)
    run_folder.require_new(folder)
    require_own(folder)
    listener = listener_here(progress=progress)
    with (
        alone_on_this_machine(),
        _resumable(folder, op, inputs),
        _without_leftovers(folder),
        brought_op(op, inputs, folder, seed_with) as name,
    ):
        axes = Axes(
            ops=(name,),
            variants=tuple(variants),
            gradients=tuple(gradients),
            directions=tuple(directions),
            modes=tuple(modes),
            dtypes=tuple(dtypes),
            placements=(device,),
            sizes=tuple(sizes),
            quick=quick,
            parts=not rev if parts is None else parts,
        )
        planned = settings_for(
            axes,
            launches=launches,
            rounds=rare.get("rounds"),
            until=until,
            budget_seconds=budget_seconds,
            case_timeout_seconds=rare.get("case_timeout"),
            memory_limit_bytes=memory_limit_bytes,
            linearity=rare.get("linearity", False),
            seed=rare.get("seed", 0),
            versions=tf,
            revisions=rev,
        )
        judging = replace(judging, baseline=baseline or usual_baseline(axes.ops, axes.variants))
        request = plan.Request(axes, planned, judging.baseline, ("pyopbench.run", name))
        revisions = RevisionRequest(tuple(rev), every, each_has_budget=budget_seconds is None) if rev else None
        measure.begin(folder, request, listener, tf=tf, revisions=revisions)
        return _measured(folder, judging, listener, probes=bool(requires) or (probes and not rev), fail_on=fail_on)


@describe_arguments(RESUME)
def resume(  # noqa: PLR0913 - all but the folder have a default
    folder: str | Path,
    op: Op | None = None,
    inputs: Inputs = None,
    *,
    seed_with: str = "",
    minimum_effect: float | None = None,
    mix: Mix = None,
    requires: Sequence[str] = (),
    calls_per_step: float | None = None,
    step_seconds: float | None = None,
    progress: bool = True,
) -> AnyResult:
    """Continue an interrupted run as it was planned: `pyopbench resume` from Python.

    Args:
        folder: of the run.
        op: the same function as when it was begun, because nothing that a folder holds is run; None for a built-in op.
        inputs: the same examples.
        seed_with: the same statement.
        {options}
        progress: show how it goes.

    Returns:
        As `run`.

    Raises:
        BadInput: it is no run, of several versions or revisions, or the op has changed since.
        NothingMeasured: no case has a sample.
        Interrupted: Ctrl-C, again.
    """
    place = Path(folder)
    require_own(place)
    if versions.is_here(place):
        raise BadInput(
            "a run on several versions or revisions is continued from the command line",
            received=place,
            legal="a run on one version",
            hint=f"pyopbench resume {place}",
        )
    effect = effect_of(minimum_effect, None, is_over_revisions=False)
    judging = judging_of(stored_run.baseline_of(place), effect, mix, requires, calls_per_step, step_seconds)
    with _resumable(place, op, inputs), alone_on_this_machine(), _brought_again(op, inputs, place, seed_with):
        stored_run.require_resumable(place)
        return _measured(place, judging, listener_here(progress=progress), probes=bool(requires))


def _measured(
    folder: Path, judging: Judging, listener: measure.Listener, *, probes: bool, fail_on: str | None = None
) -> AnyResult:
    if probes:
        measure.probe_beside(folder, judging, listener)
    measure.measure(folder, judging, listener)
    with listener.busy("judging"):
        return result_of(folder, judging, fail_on)


@contextmanager
def _brought_again(op: Op | None, inputs: Inputs, folder: Path, seed_with: str) -> Iterator[None]:
    if op is None:
        yield
        return
    with brought_op(op, inputs, folder, seed_with):
        yield


@contextmanager
def _without_leftovers(folder: Path) -> Iterator[None]:
    """Leave nothing in the folder of a run that was not begun."""
    try:
        yield
    except BaseException:
        if not _is_begun(folder):
            forget_shipped(folder)
        raise


@contextmanager
def _resumable(folder: Path, op: Op | None, inputs: Inputs) -> Iterator[None]:
    """Have an interrupt say how to continue, if there is a run by then."""
    try:
        yield
    except KeyboardInterrupt:
        if not _is_begun(folder):
            raise
        raise Interrupted(folder, _how_to_resume(folder, op, inputs)) from None


def _is_begun(folder: Path) -> bool:
    return (folder / run_folder.RUN_FILE).exists() or versions.is_here(folder)


def _how_to_resume(folder: Path, op: Op | None, inputs: Inputs) -> str:
    if versions.is_here(folder):
        command = stored_run.stored_resume_command(folder, measure.parts_of(folder)[0])
        return f"{command} continues; pyopbench.read({str(folder)!r}) judges what there is"
    words = [repr(str(folder))]
    if callable(op):
        words += [getattr(op, "__name__", "op")]
    elif op is not None:
        words += [repr(str(op))]
    words += ["inputs"] if inputs is not None else []
    return f"pyopbench.resume({', '.join(words)}) continues; pyopbench.read({words[0]}) judges what there is"
