"""Measures ops: `pyopbench.run`, and the plan of a run, which the command line uses too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from pyopbench.api.listeners import Listener, alone_on_this_machine, announce, follow, listener_here, say_planned
from pyopbench.api.own_function import FOLDER, Inputs, Op, home_of, op_in_words
from pyopbench.api.read import Mix, judging_of
from pyopbench.engine import plan, sides, stored_run
from pyopbench.model.case import Axes
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput, Interrupted
from pyopbench.model.own_target import OwnOps, usual_baseline
from pyopbench.model.parse import parse_axes, parse_shard, split
from pyopbench.model.side import combine_environments
from pyopbench.store.run import OpenRun, is_run, open_run, require_new

if TYPE_CHECKING:
    from pyopbench.api.results import AnyResult
    from pyopbench.judge.judge import Judging


def run(  # noqa: PLR0913 - each is an option, and all but the op have a default
    op: Op,
    inputs: Inputs = None,
    *,
    quick: bool = False,
    variants: Sequence[str] = (),
    axis: Sequence[str] = (),
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
    seed_with: str = "",
    parts: bool = True,
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
        axis: as `--axis`: `["size=1e3,1e6", "dtype=float64", "mode=call", "device=cpu,gpu"]`.
        baseline: the variant that is the current callback; None for the one that the op's file names, else
            `numpy_function`, and `py_function_numpy` for built-in ops.
        minimum_effect: the smallest difference that matters, as a share; None for 0.03, or a third of the slowdown that
            `fail_on` names.
        mix: how often each size is called: size -> weight, or the path of a CSV file; None for an even mix.
        requires: features that a port must support: `savedmodel`, `xla`, `second_order`, ...
        tf: versions of TensorFlow to compare, such as `["2.16.2", "2.21.0"]`; each is installed into an environment of
            its own if it is missing.
        packages: versions of other packages to compare, such as `["numpy==1.26.4", "numpy==2.2.6"]`; several on one
            side are joined by a comma.
        python: interpreters, or versions of Python, to compare. One that has a TensorFlow is used as it is.
        rev: revisions of the git repository that the op is in: commits, or `"WORKTREE"`.
        fail_on: with several sides, the slowdown that fails the run: `slower`, `slower:5%` or `never`; None for the
            usual.
        budget_seconds: stop measuring after so many seconds; None for the usual.
        launches: maximum number of launches (worker processes), at least 2; None for the usual.
        seed_with: a statement that runs before each call of a body that draws random numbers, such as
            `"np.random.seed({seed})"`.
        parts: also measure bodies alone and A/A controls; never with `rev`.
        out: a new folder for the results; None for `results/DATE`.
        progress: show how it goes, on stderr or in the output of the notebook's cell.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`; with two or more sides a
        `SidesResult`. The samples are in its folder.

    Raises:
        BadInput: something cannot be measured; the message has the next step.
        NothingMeasured: no case has a sample; with the first reason.
        Interrupted: Ctrl-C; finished measurements are stored, and the message has the command that continues.

    >>> pyopbench.run(my_function, [np.zeros((100, 3), np.float32)], quick=True)  # doctest: +SKIP
    """
    from pyopbench.api.results import result_of

    if rev and callable(op) and not home_of(op):
        raise BadInput(
            "a function of a notebook or a script has no revisions",
            received=f"{getattr(op, '__name__', op)} with rev={rev!r}",
            hint='put it into a file of the repository, commit it, and name it: "my_module.py:function"',
        )
    if launches is not None and launches < 2:
        raise BadInput("one launch gives no interval", received=f"launches={launches!r}", hint="for example launches=8")
    folder = plan.new_folder() if out is None else Path(out)
    require_new(folder)
    listener = listener_here(progress=progress)
    with alone_on_this_machine(), _resumable(folder):
        word, words = op_in_words(op, inputs, folder)
        usual = Axes(quick=quick, parts=parts and not rev)
        axes, own = read_axes(usual, [word], words, seed_with, axis, variants)
        begun, judging = plan_run(
            folder,
            listener,
            ("pyopbench.run", word),
            axes,
            own,
            baseline=baseline,
            minimum_effect=minimum_effect,
            mix=mix,
            requires=requires,
            tf=tf,
            packages=packages,
            python=python,
            rev=rev,
            fail_on=fail_on,
            budget_seconds=budget_seconds,
            launches=launches,
        )
        follow(begun, judging, listener)
        with listener.busy("judging"):
            return result_of(begun, judging, fail_on)


def plan_run(  # noqa: PLR0913 - the options of `run`
    folder: Path | None,
    listener: Listener,
    command: Sequence[str],
    axes: Axes,
    own: OwnOps,
    *,
    baseline: str | None,
    minimum_effect: float | None,
    mix: Mix = None,
    requires: Sequence[str],
    tf: Sequence[str],
    packages: Sequence[str],
    python: Sequence[str],
    rev: Sequence[str],
    fail_on: str | None,
    budget_seconds: float | None,
    launches: int | None,
    shard: str | None = None,
) -> tuple[OpenRun, Judging]:
    """Plan a run, and return it with how to judge it; the options are those of `run`, and `shard` of the command."""
    effect, _ = sides.resolve_thresholds(None, minimum_effect, fail_on)
    baseline = baseline or usual_baseline(axes.ops, own, axes.variants)
    judging = judging_of(baseline, effect, mix, split(_listed(requires)))
    environments = tuple(combine_environments(_listed(tf), _listed(packages), _listed(python)))
    if shard is not None and rev:
        raise BadInput(
            "a run over revisions is not divided into shards",
            received=f"--shard {shard} with --rev",
            hint="measure the revisions on one machine",
        )
    sides_wanted = len(environments) * max(len(_listed(rev)), 1)
    request = plan.Request(
        axes,
        plan.settings_for(axes, baseline, launches=launches, budget_seconds=budget_seconds, sides=sides_wanted),
        tuple(command),
        None if shard is None else parse_shard(shard),
        own,
        environments,
        tuple(_listed(rev)),
        fail_on=fail_on,
        minimum_effect=effect,
    )
    announce(environments, listener)
    with listener.busy("planning: starting TensorFlow, compiling kernels, trying ports"):
        begun = sides.begin(folder, request)
    say_planned(begun, listener)
    if begun.has_several_sides:
        from pyopbench.judge.comparison import gate  # pandas, which takes a second

        for side in begun.plan.sides:
            if side.problem is not None:
                listener.warn(gate.problem_text(side))
            for difference in side.values.differences:
                listener.warn(gate.difference_text(side.label, difference))
    return begun, judging


def _listed(names: Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def read_axes(  # noqa: PLR0913 - the options that say what to cover
    usual: Axes,
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    axis: Sequence[str],
    variants: Sequence[str],
) -> tuple[Axes, OwnOps]:
    """Return `usual` with the requested values in its place, checked, and the own ops among the ops."""
    names, own = read_ops(ops, inputs, seed_with)
    asked = {"ops": tuple(names), "variants": split(_listed(variants)), **parse_axes(_listed(axis))}
    axes = replace(usual, **{name: values for name, values in asked.items() if values})  # type: ignore[arg-type]
    plan.check_axes(axes, own)
    return axes, own


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Have an interrupt say how to continue; leave nothing in the folder of a run that did not begin."""
    has_shipped = (folder / FOLDER).exists()
    try:
        yield
    except BaseException as error:
        if not is_run(folder) and not has_shipped:
            rmtree(folder / FOLDER, ignore_errors=True)
            with suppress(OSError):  # the user has put something there
                folder.rmdir()
        elif isinstance(error, KeyboardInterrupt) and is_run(folder):
            command = stored_run.resume_command(open_run(folder))
            raise Interrupted(
                folder, f"{command} continues it; pyopbench.read({str(folder)!r}) judges the measurements so far"
            ) from None
        raise
