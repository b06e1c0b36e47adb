"""What becomes of a module of NumPy's own tests with traced arrays in place of the arrays that its tests make.

The process that `benchmarks/outside/numpys_own_tests.py` starts for each module; it writes lines as
`benchmarks/bodies/examine.py` does, a form for each test function.

    python benchmarks/outside/examine_numpys_own_tests.py lib.test_shape_base.py --lines FILE

A copy of the module is run by pytest. In it, `np.array`, `np.arange` and the like return traced arrays whose values are
known while they are made (TensorFlow's eager mode), so that a test can look at them; `assert_equal` and its kin are
given NumPy's arrays in their place.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pytest
import tensorflow as tf

from bodies.line_file import line_file
from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.refusal import Refused
from pyopbench.ports.tracing.tape import Fork, Shared, Tape, recording

MAKERS = ("arange", "array", "asarray", "eye", "full", "linspace", "ones", "zeros")
"""Functions whose arrays are replaced, with at least one axis and of a dtype that tensors have."""

ABOUT_ERRORS = ("assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings")
NO_ERROR = ("DID NOT RAISE", "not raised")
OTHERWISE_RIGHT = ("DID NOT WARN", "not triggered", "does not match", "did not match")
"""What a test says that misses a warning, or the words of an error: TensorFlow has its own."""

LONGEST_REASON = 250
MOST_SHOWN = 3


class Namespace(types.ModuleType):
    """NumPy, with functions that make traced arrays."""

    def __init__(self, made: Callable[[], None]) -> None:
        """Call a function whenever an array is made."""
        super().__init__("numpy")
        self.made = made

    def __getattr__(self, name: str) -> Any:
        """Return what NumPy has by a name."""
        found = getattr(np, name)
        return making(found, self.made) if name in MAKERS else found


class Watch:
    """The plugin of pytest that replaces arrays, and notes what becomes of each test."""

    def __init__(self, write: Callable[[dict[str, Any]], None], without: frozenset[str]) -> None:
        """Write a line when a test function begins, and one when it is done."""
        self.write = write
        self.without = without
        self.form = ""
        self.counted: Counter[str] = Counter()
        self.shown: list[dict[str, str]] = []
        self.has_made = False

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what is done, and give the modules other functions."""
        items[:] = [item for item in items if form_of(item) not in self.without]
        for module in {item.module for item in items}:
            for name, value in list(vars(module).items()):
                if value is np:
                    setattr(module, name, Namespace(self._note_made))
                elif name.startswith("assert_") and name not in ABOUT_ERRORS and callable(value):
                    setattr(module, name, unwrapping(value))
                elif name in MAKERS and value is getattr(np, name):
                    setattr(module, name, making(value, self._note_made))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Run a test where a traced array can be asked for what it is."""
        if form_of(item) != self.form:
            self.finish()
            self.form = form_of(item)
            self.write({"begun": self.form, "kind": "test"})
        self.has_made = False
        with recording(Tape([], (), Shared())):
            outcome: Any = yield
        became, reason = became_of(outcome.excinfo[1] if outcome.excinfo else None)
        if not self.has_made or item.get_closest_marker("xfail"):
            became = "not tried"
        self.counted[became] += 1
        if became not in ("right", "not tried") and len(self.shown) < MOST_SHOWN:
            self.shown.append({"became": became, "at": item.name[:LONGEST_REASON], "reason": reason})

    def finish(self) -> None:
        """Write what became of the test function that has run last."""
        if self.form:
            order = ("wrong", "no error", "failed", "refused", "right", "not tried")
            worst = next(one for one in order if self.counted[one])
            line = {"form": self.form, "kind": "test", "became": worst, "tests": dict(self.counted)}
            self.write(line | ({"shown": self.shown} if self.shown else {}))
        self.counted, self.shown, self.form = Counter(), [], ""

    def _note_made(self) -> None:
        self.has_made = True


def main(arguments: list[str]) -> int:
    """Run a module's tests and write its lines; returns the exit code."""
    warnings.simplefilter("ignore")
    about = "the name of a module of tests, such as lib.test_shape_base"
    with line_file(arguments, __doc__, about) as (options, write), tempfile.TemporaryDirectory() as folder:
        write({"body": options.path.stem})
        *folders, name = options.path.stem.split(".")
        copied = shutil.copy(Path(np.__file__).parent.joinpath(*folders, "tests", f"{name}.py"), folder)
        watch = Watch(write, frozenset(options.without))
        quiet = ["-q", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
        pytest.main([*quiet, "--rootdir", folder, "-c", os.devnull, str(copied)], plugins=[watch])
        watch.finish()
    return 0


def form_of(item: Any) -> str:
    """Return the name of a test function with its class, without parameters."""
    names = [item.cls.__name__] if item.cls else []
    return ".".join([*names, item.originalname or item.name])


def became_of(error: BaseException | None) -> tuple[str, str]:
    """Return what an exception says of a test, in one word, and why."""
    if error is None:
        return "right", ""
    while isinstance(error, AssertionError) and (error.__cause__ or error.__context__):
        error = error.__cause__ or error.__context__
        assert error is not None
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON]
    if isinstance(error, Refused | Fork):  # a Fork is an `if` outside of what is traced
        return "refused", reason
    if isinstance(error, pytest.skip.Exception) or any(one in reason for one in OTHERWISE_RIGHT):
        return "not tried", reason
    if any(one in reason for one in NO_ERROR):
        return "no error", reason
    return ("wrong" if isinstance(error, AssertionError) else "failed"), reason


def making(function: Callable[..., Any], made: Callable[[], None]) -> Callable[..., Any]:
    """Return a function of NumPy's that makes traced arrays."""

    def call(*arguments: Any, **named: Any) -> Any:
        array = function(*map(untraced, arguments), **{name: untraced(one) for name, one in named.items()})
        if type(array) is not np.ndarray or array.dtype.kind not in "biufc" or not array.ndim:
            return array
        try:
            tensor = tf.constant(array)
        except (TypeError, ValueError, tf.errors.OpError):  # no dtype of tensors
            return array
        made()
        return TracedArray(tensor, c_order=True)

    return call


def unwrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an assertion that is given NumPy's arrays in place of traced ones."""

    def call(*arguments: Any, **named: Any) -> Any:
        return function(*map(untraced, arguments), **named)

    return call


def untraced(value: Any) -> Any:
    """Return NumPy's array of a traced one, also in lists and tuples."""
    if type(value) is TracedArray:
        array = value.tensor.numpy()
        return np.asarray(array)[()] if value.is_scalar else array
    return type(value)(map(untraced, value)) if type(value) in (list, tuple) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
