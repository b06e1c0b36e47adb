"""Measures ops: `pyopbench.run`, and the plan of a run, which the command line uses too."""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.api.listeners import Listener, alone_on_this_machine, announce, follow, listener_here, say_planned
from pyopbench.api.results import AnyResult, Mix, judging_of, result_of
from pyopbench.engine import plan, sides, stored_run
from pyopbench.judge.comparison import gate
from pyopbench.judge.judge import Judging
from pyopbench.model import formatting
from pyopbench.model.case import Axes
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput, Interrupted
from pyopbench.model.files import real_path, write_atomically
from pyopbench.model.own_target import OwnOps, usual_baseline
from pyopbench.model.parse import parse_axes, parse_shard, split
from pyopbench.model.side import Environment, combine_environments
from pyopbench.model.syntax import read_source
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.extraction import Extraction
from pyopbench.store.run import OpenRun, is_run, open_run, require_new

Op: TypeAlias = Callable[..., Any] | str | Path
"""A function, or the name of an op as on the command line."""
Inputs: TypeAlias = Sequence[Any] | Mapping[str, Any] | npt.NDArray[Any] | None
"""Example arguments, by position or by name."""

FOLDER = "op"
"""The folder in that of the run for the files that are shipped with an op."""
WAY_OUT = "put the function and what it uses into a .py file, import it from there, and measure that"

MOST_CHARACTERS = 10_000
"""Longest example on a command line, whose length is limited."""


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
    if launches is not None and launches < 2:
        raise BadInput("one launch gives no interval", received=f"launches={launches!r}", hint="for example launches=8")
    folder = plan.new_folder() if out is None else Path(out)
    require_new(folder)
    listener = listener_here(progress=progress)
    with alone_on_this_machine(), _resumable(folder):
        word, words = op_in_words(op, inputs, folder)
        axes, own = read_axes(Axes(quick=quick, parts=parts and not rev), [word], words, seed_with, axis, variants)
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
            environments=combine_environments(tf, packages, python),
            revisions=rev,
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
    environments: Sequence[Environment],
    revisions: Sequence[str],
    fail_on: str | None,
    budget_seconds: float | None,
    launches: int | None,
    shard: str | None = None,
) -> tuple[OpenRun, Judging]:
    """Plan a run, and return it with how to judge it; the options are those of `run`, and `shard` of the command."""
    effect, _ = sides.resolve_thresholds(None, minimum_effect, fail_on)
    baseline = baseline or usual_baseline(axes.ops, own, axes.variants)
    judging = judging_of(baseline, effect, mix, split(requires))
    if shard is not None and revisions:
        what = "a run over revisions is not divided into shards"
        raise BadInput(what, received=f"--shard {shard} with --rev", hint="measure the revisions on one machine")
    sides_wanted = len(environments) * max(len(revisions), 1)
    request = plan.Request(
        axes,
        plan.settings_for(axes, baseline, launches=launches, budget_seconds=budget_seconds, sides=sides_wanted),
        tuple(command),
        None if shard is None else parse_shard(shard),
        own,
        tuple(environments),
        tuple(revisions),
        fail_on=fail_on,
        minimum_effect=effect,
    )
    plan.check_request(request)
    announce(environments, listener)
    doing = "planning: starting TensorFlow, compiling kernels, trying ports"
    with alone_on_this_machine(), listener.busy(doing):  # which would disturb another measurement
        begun = sides.begin(folder, request)
    say_planned(begun, listener)
    if begun.has_several_sides:
        for side in begun.plan.sides:
            if side.problem is not None:
                listener.warn(gate.problem_text(side))
            for difference in side.values.differences:
                listener.warn(gate.difference_text(side.label, difference))
    return begun, judging


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
    asked = {"ops": tuple(names), "variants": split(variants), **parse_axes(axis)}
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
            hint = f"{command} continues it; pyopbench.read({str(folder)!r}) judges the measurements so far"
            raise Interrupted(folder, hint) from None
        raise


# A function and its example arguments become words of a command line, so that an op from Python takes the same path as
# one named in a shell. Values without a name there are stored in the folder of the run: arrays as .npy files, and the
# source of a function of `__main__`.


def op_in_words(op: Op, inputs: Inputs, folder: Path) -> tuple[str, list[str]]:
    """Return the name of an op on the command line, and its inputs as `--input` takes them.

    Files to ship are written into `FOLDER` in `folder`, the folder of the run.
    """
    words = _inputs_in_words(inputs, folder / FOLDER)
    read_source.cache_clear()  # a file may have been edited and reloaded since the last run
    if isinstance(op, (str, Path)):
        return str(op), words
    if not callable(op):
        raise BadInput(
            "not an op",
            received=f"{op!r}, of type {type(op).__name__}",
            legal="a function, or a text: a built-in name, my_op.py, my_module.py:function or package.module:function",
            hint="for example pyopbench.run(my_function, [example_of_each_argument])",
        )
    name, module = _name_of(op), home_of(op)
    if not module:
        source, defined_as = _source_of(op, len(words))
        return f"{_ship(source, folder / FOLDER, f'{defined_as}_', '.py')}:{defined_as}", words
    file = getattr(sys.modules[module], "__file__", None) if inspect.isfunction(op) else None
    place = file if file and Path(file).suffix == ".py" else module
    return f"{place}:{name}", words


def home_of(value: object) -> str:
    """Return the module in which other processes find a function or class under its name; "" if there is none."""
    for module in (str(getattr(value, "__module__", "")), "numpy"):  # ufuncs do not know theirs
        found = sys.modules.get(module)
        if found is not None and module != "__main__" and vars(found).get(_name_of(value)) is value:
            return module
    return ""


def _name_of(value: object) -> str:
    """Return the name that a function or class was defined under; "" for anything else."""
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))


def _source_of(op: Callable[..., Any], arguments: int) -> tuple[bytes, str]:
    """Return the source of a module with a function and all that it uses, and the function's name there."""
    extraction = Extraction()
    try:
        extraction.add(op, arguments=arguments)
        extracted = extraction.module()
    except CannotPort as error:
        where = "" if error.place is None else f", {error.place[0]} line {error.place[1]}"
        raise BadInput(
            f"the function cannot be sent to another process: {error.why}",
            received=f"{_name_of(op) or repr(op)}{where}",
            hint=f"{error.fix}; or {WAY_OUT}" if error.fix else WAY_OUT,
        ) from error
    (name,) = extracted.names
    return f'"""{name}, as it was when it was measured."""\n\n{extracted.text}'.encode(), name


def _inputs_in_words(inputs: Inputs, folder: Path) -> list[str]:
    if inputs is None:
        return []
    if isinstance(inputs, Mapping):
        return [f"{name}={_value_in_words(value, folder, name)}" for name, value in inputs.items()]
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Sequence):
        inputs = [inputs]  # the only argument
    return [_value_in_words(value, folder, f"argument {place + 1}") for place, value in enumerate(inputs)]


def _value_in_words(value: Any, folder: Path, name: str) -> str:
    """Return the path of an array's file, or the expression that makes a plain value."""
    if hasattr(value, "numpy"):  # an eager tensor
        value = value.numpy()
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        stream = io.BytesIO()
        np.save(stream, value, allow_pickle=False)
        return str(_ship(stream.getvalue(), folder, "", ".npy"))
    try:
        ast.literal_eval(repr(value))
        if len(repr(value)) > MOST_CHARACTERS:
            raise ValueError
    except (ValueError, SyntaxError) as error:
        raise BadInput(
            f"{name} cannot be stored as an example",
            received=f"{formatting.shorten(repr(value), 60)}, of type {type(value).__name__}",
            hint="convert it with np.asarray, or write an op file; docs/your-own-op.md has one",
        ) from error
    return repr(value)


def _ship(content: bytes, folder: Path, stem: str, suffix: str) -> Path:
    """Write a file that is named by its content, so a changed function never replaces the one that was measured."""
    path = folder / f"{stem}{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return real_path(path)
