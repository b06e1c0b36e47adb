"""Measures ops from Python: `pyopbench.run`, `resume` and `pipeline`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pyopbench.api.judging import Mix, judging_of
from pyopbench.api.listeners import Listener, alone_on_this_machine, begin_run, follow, listener_here, say_planned
from pyopbench.api.own_function import Inputs, Op, forget_shipped, home_of, read_op
from pyopbench.api.results import PipelineResult
from pyopbench.api.several_results import AnyResult, result_of
from pyopbench.engine import pipeline as pipelines
from pyopbench.engine import plan, sides, stored_run
from pyopbench.judge.judge import Judging, judge
from pyopbench.judge.pipeline import TrainingStep
from pyopbench.model.arrangement import STEP_ELEMENTS
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Axes, Until
from pyopbench.model.errors import BadInput, Interrupted
from pyopbench.model.own_target import NO_OWN_OPS, usual_baseline
from pyopbench.model.parse import split_some
from pyopbench.model.side import HERE, combine_environments
from pyopbench.store.run import OpenRun, is_run, open_run, require_new


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
    tf: Sequence[str] = (),
    packages: Sequence[str] = (),
    python: Sequence[str] = (),
    rev: Sequence[str] = (),
    fail_on: str | None = None,
    budget_seconds: float | None = None,
    launches: int | None = None,
    until: Until | None = None,
    seed_with: str = "",
    parts: bool | None = None,
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
        quick: few sizes and launches: an answer in a minute for one op.
        variants: names; all if empty.
        gradients: mechanisms, or `("all",)`; the usual one of each variant if empty.
        directions: `forward`, `backward`, `forward_backward`; all that a mode has if empty.
        modes: `node`, `call`, `eager`. If empty: `node`, on a GPU `call`; with `cpu,gpu` both on the CPU.
        device: `cpu`; `gpu` if TensorFlow sees one; or `cpu,gpu` to find out where each op should run.
        baseline: the variant that is the current callback; None for the one that the op's file names, else
            `numpy_function`, and `py_function_numpy` for built-in ops.
        minimum_effect: the smallest difference that matters, as a share; None for 0.03, or for a third of what
            `fail_on` names.
        mix: how often each size is called: size -> weight, or the path of a CSV file; None for an even mix.
        requires: what a port has to be able to do: `savedmodel`, `xla`, `second_order`, ...
        tf: versions of TensorFlow to compare, such as `["2.16.2", "2.21.0"]`; each is installed into an environment of
            its own if it is missing.
        packages: versions of other packages to compare, such as `["numpy==1.26.4", "numpy==2.2.6"]`; several on one
            side are joined by a comma.
        python: interpreters, or versions of Python, to compare. One that has a TensorFlow is used as it is.
        rev: revisions of the git repository that the op is in: commits, a range `"A..B"` or `"WORKTREE"`.
        fail_on: with several sides, what fails: `slower`, `slower:5%` or `never`; None for `slower` of revisions.
        budget_seconds: stop measuring after so many seconds; None for the usual.
        launches: maximum number of launches (worker processes), at least 2; None for the usual.
        seed_with: a statement that runs before each call of a body that draws random numbers, such as
            `"np.random.seed({seed})"`.
        until: when to stop early: `"decided"` once no answer is open (the usual of a quick run), `"resolved"` once
            every comparison is resolved or out of reach too (the usual otherwise), `"end"` never.
        parts: measure also where a callback's time goes; None for yes, except with `rev`.
        dtypes: of the inputs of a built-in op.
        sizes: of a built-in op; its own if empty.
        out: a new folder for the results; None for `results/DATE`.
        progress: show how it goes, on stderr or in the output of the notebook's cell.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`; with two or more sides a
        `SidesResult`. The samples are in its folder.

    Raises:
        BadInput: something cannot be measured as it is; the message says what can.
        NothingMeasured: no case has a sample; with the first reason.
        Interrupted: Ctrl-C; what was finished is stored, and the message says how to continue.

    >>> pyopbench.run(my_function, [np.zeros((100, 3), np.float32)], quick=True)  # doctest: +SKIP
    """
    effect, _ = sides.resolve_thresholds(None, minimum_effect, fail_on)
    judging = judging_of(baseline or BASELINE, effect, mix, requires)
    require_list("rev", rev)
    require_list("tf", tf)
    require_list("packages", packages)
    require_list("python", python)
    asked = sides.AskedSides(
        tuple(combine_environments(tf, packages, python)),
        tuple(rev),
        fail_on=fail_on,
        minimum_effect=effect,
        each_has_budget=budget_seconds is None,
    )
    asked.check()
    require_revisable(op, rev)
    require_launches(launches)
    folder = plan.new_folder() if out is None else Path(out)
    require_new(folder)
    listener = listener_here(progress=progress)
    with alone_on_this_machine(), _resumable(folder, op, inputs), _without_leftovers(folder):
        name, own = read_op(op, inputs, folder, seed_with)
        axes = Axes(
            ops=(name,),
            variants=tuple(variants),
            gradients=tuple(gradients),
            directions=tuple(directions),
            modes=tuple(modes),
            dtypes=tuple(dtypes),
            placements=split_some("device", [device]),
            sizes=tuple(sizes),
            quick=quick,
            parts=not rev if parts is None else parts,
        )
        judging = replace(judging, baseline=baseline or usual_baseline(axes.ops, own, axes.variants))
        settings = plan.settings_for(
            axes,
            judging.baseline,
            launches=launches,
            until=until,
            budget_seconds=budget_seconds,
            compares=asked.are_several,
        )
        request = plan.Request(axes, settings, ("pyopbench.run", name), own=own)
        begun = begin_run(folder, request, listener, asked)
        return _measured(begun, judging, listener, fail_on=fail_on)


def resume(  # noqa: PLR0913 - all but the folder have a default
    folder: str | Path,
    op: Op | None = None,
    inputs: Inputs = None,
    *,
    seed_with: str = "",
    program: str = "",
    minimum_effect: float | None = None,
    mix: Mix = None,
    requires: Sequence[str] = (),
    progress: bool = True,
) -> AnyResult:
    """Continue an interrupted run as it was planned: `pyopbench resume` from Python.

    Args:
        folder: of the run.
        op: the same function as when it was begun, because nothing that a folder holds is run; None for a built-in op.
        inputs: the same examples.
        seed_with: the same statement.
        program: the function that makes the dataset in which the op is measured, as `FILE.py:FUNCTION`.
        minimum_effect: the smallest difference that matters, as a share; None for that of the run.
        mix: as for `run`.
        requires: as for `run`.
        progress: show how it goes.

    Returns:
        As `run`.

    Raises:
        BadInput: it is no run, of several versions or revisions, or the op has changed since.
        NothingMeasured: no case has a sample.
        Interrupted: Ctrl-C, again.
    """
    place = Path(folder)
    run = open_run(place)
    (first, *others) = run.plan.sides
    if others or first.revision is not None or first.asked != HERE:
        raise BadInput(
            "a run on versions or revisions that it names is continued from the command line",
            received=place,
            legal="a run on what is installed",
            hint=f"pyopbench resume {place}",
        )
    effect = stored_run.planned_effect([run]) if minimum_effect is None else minimum_effect
    baseline = run.plan.settings.baseline
    judging = judging_of(baseline, effect, mix, requires)
    with _resumable(place, op, inputs), alone_on_this_machine():
        name, own = ("", NO_OWN_OPS) if op is None else read_op(op, inputs, place, seed_with)
        own = pipelines.with_program(name, own, program, stored_run.resume_command(run))
        stored_run.require_resumable(run.measured[0], own)
        run.own = own
        return _measured(run, judging, listener_here(progress=progress))


def _measured(run: OpenRun, judging: Judging, listener: Listener, *, fail_on: str | None = None) -> AnyResult:
    follow(run, judging, listener)
    with listener.busy("judging"):
        return result_of(run, judging, fail_on)


@contextmanager
def _without_leftovers(folder: Path) -> Iterator[None]:
    """Leave nothing in the folder of a run that was not begun."""
    try:
        yield
    except BaseException:
        if not is_run(folder):
            forget_shipped(folder)
        raise


@contextmanager
def _resumable(folder: Path, op: Op | None, inputs: Inputs) -> Iterator[None]:
    """Have an interrupt say how to continue, if there is a run by then."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_run(folder):
            raise
        raise Interrupted(folder, _how_to_resume(folder, op, inputs)) from None


def _how_to_resume(folder: Path, op: Op | None, inputs: Inputs) -> str:
    run = open_run(folder)
    if run.has_several_sides:
        command = stored_run.resume_command(run)
        return f"{command} continues; pyopbench.read({str(folder)!r}) judges what there is"
    words = [repr(str(folder))]
    if callable(op):
        words += [getattr(op, "__name__", "op")]
    elif op is not None:
        words += [repr(str(op))]
    words += ["inputs"] if inputs is not None else []
    return f"pyopbench.resume({', '.join(words)}) continues; pyopbench.read({words[0]}) judges what there is"


def pipeline(  # noqa: PLR0913 - each is an option, and all but the op have a default
    op: Op,
    inputs: Inputs = None,
    *,
    size: int | None = None,
    dtype: str | None = None,
    parallel: Sequence[int] = (),
    batch: Sequence[int] = pipelines.BATCH,
    baseline: str | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    step_seconds: float | None = None,
    step_elements: int = STEP_ELEMENTS,
    budget_seconds: float | None = None,
    launches: int | None = None,
    seed_with: str = "",
    program: str = "",
    progress: bool = True,
) -> PipelineResult:
    """Measure an op inside a `tf.data` pipeline, and find the best arrangement: `pyopbench pipeline` from Python.

    Args:
        op: a function of one element, as for `run`.
        inputs: an example of each argument, as for `run`.
        size: of one element of a built-in op; None for a middle one.
        dtype: `float32` or `float64`; None for the first of the op.
        parallel: values of `num_parallel_calls` to try, -1 for `tf.data.AUTOTUNE`; 1, the cores and AUTOTUNE if empty.
        batch: batch sizes to try where the callback gets a batch.
        baseline: the variant that is the current callback; None as for `run`.
        minimum_effect: the smallest difference that matters, as a share.
        step_seconds: how long a training step takes if its input is ready, so without waits for it, in seconds.
        step_elements: elements of a training step.
        budget_seconds: stop measuring after so many seconds; None for 75.
        launches: maximum number of launches (worker processes); None for up to 8, as time allows.
        seed_with: as for `run`.
        program: the function that makes the dataset in which the op is measured, as `FILE.py:FUNCTION`.
        progress: show how it goes.

    Returns:
        The answer, and how many elements a second each arrangement delivers. Nothing is written before its `save`.

    Raises:
        BadInput: something cannot be measured as it is.
        NothingMeasured: the body fails, or the current callback does.
    """
    training = TrainingStep(step_elements, step_seconds)
    judging = judging_of(baseline or BASELINE, minimum_effect)
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        name, own = read_op(op, inputs, scratch, seed_with)
        own = pipelines.with_program(name, own, program)
        request = pipelines.PipelineRequest(
            name,
            size,
            dtype,
            parallel=tuple(parallel) or pipelines.usual_parallel(),
            batch=tuple(batch),
            baseline=baseline or usual_baseline([name], own),
            launches=launches,
            budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
            step_seconds=training.seconds_per_element,
            step_elements=step_elements,
            minimum_effect=minimum_effect,
            own=own,
        )
        judging = replace(judging, baseline=request.baseline)
        listener = listener_here(progress=progress)
        with alone_on_this_machine():
            with listener.busy("planning"):
                begun = pipelines.begin(scratch / "run", request, ("pyopbench.pipeline", name))
            say_planned(begun, listener)
            follow(begun, judging, listener)
            pipelines.require_current(begun)
        return PipelineResult(judge([begun], judging), begun)


def require_launches(launches: int | None) -> None:
    """Check that there are enough launches for an interval.

    Raises:
        BadInput: there is one, or none.
    """
    if launches is not None and launches < 2:
        raise BadInput(
            "one launch gives no interval",
            received=f"launches={launches!r}",
            legal="2 or more",
            hint="for example launches=8",
        )


def require_list(option: str, given: Sequence[str]) -> None:
    """Check that names are a list of them, and not one text.

    Raises:
        BadInput: they are a text.
    """
    if isinstance(given, str):
        raise BadInput(
            f"{option} is a list, because there are several to compare",
            received=f"{option}={given!r}",
            legal="a list of texts",
            hint=f"{option}=[{given!r}, ...]",
        )


def require_revisable(op: Op, rev: Sequence[str]) -> None:
    """Check that an op is a file of a repository, if revisions of it are asked for.

    Raises:
        BadInput: it is a function that stands in no module.
    """
    if rev and callable(op) and not home_of(op):
        raise BadInput(
            "a function of a notebook or a script has no revisions",
            received=f"{getattr(op, '__name__', op)} with rev={list(rev)!r}",
            legal="an op whose file is in a git repository",
            hint='put it into a file of the repository, commit it, and name it: "my_module.py:function"',
        )
