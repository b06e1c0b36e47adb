"""What becomes of the calls in a module of NumPy's own tests when each is the port of a body of one line.

The process that `benchmarks/outside/numpys_own_tests.py` starts for each module; it writes lines as
`benchmarks/bodies/examine.py` does, a form for each test function.

    python benchmarks/outside/examine_numpys_own_tests.py lib.test_shape_base.py --lines FILE

With `--peer torch`, calls are run by torch._numpy instead of as ports.

A copy of the module is run by pytest. In it, `np.array`, `np.arange` and the like return arrays whose operations are
written, imported, run and compared with NumPy's (`ported_calls.py`). The tests go on with NumPy's results. What becomes
of a test is what becomes of the worst of its calls.
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

from bodies.line_file import line_file
from outside.ported_calls import OUTCOMES, RUNS, Run, noted, plain, ported
from pyopbench.model.failures import LONGEST_REASON

MAKERS = ("arange", "array", "asarray", "eye", "full", "linspace", "ones", "zeros")
"""Functions whose arrays are replaced, with at least one axis and of a dtype that tensors have."""

MOST_SHOWN = 3


class Namespace(types.ModuleType):
    """NumPy, with functions that make arrays whose operations are tried."""

    def __getattr__(self, name: str) -> Any:
        """Return what NumPy has by a name."""
        found = getattr(np, name)
        return making(found) if name in MAKERS else found


class Watch:
    """The plugin of pytest that replaces arrays, and notes what becomes of each test."""

    def __init__(
        self, write: Callable[[dict[str, Any]], None], without: frozenset[str], run: Run | None = None
    ) -> None:
        """Write a line when a test function begins and when it is done; calls run as ports unless `run` is passed."""
        self.run = run
        self.write = write
        self.without = without
        self.form = ""
        self.counted: Counter[str] = Counter()
        self.shown: list[dict[str, str]] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what is done, and give the modules other functions."""
        items[:] = [item for item in items if form_of(item) not in self.without]
        for module in {item.module for item in items}:
            for name, value in list(vars(module).items()):
                if value is np:
                    setattr(module, name, Namespace("numpy"))
                elif name.startswith("assert_") and callable(value) and not isinstance(value, type):
                    setattr(module, name, unwrapping(value))
                elif name in MAKERS and value is getattr(np, name):
                    setattr(module, name, making(value))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Note what becomes of the calls of a test."""
        if form_of(item) != self.form:
            self.finish()
            self.form = form_of(item)
            self.write({"begun": self.form, "kind": "test"})
        with noted(self.run) as calls:
            yield
        became, line, reason = calls.worst
        self.counted[became] += 1
        if became not in ("right", "not tried") and len(self.shown) < MOST_SHOWN:
            self.shown.append({"became": became, "at": f"{item.name}: {line}"[:LONGEST_REASON], "reason": reason})

    def finish(self) -> None:
        """Write what became of the test function that has run last."""
        if self.form:
            worst = next(one for one in OUTCOMES if self.counted[one])
            line = {"form": self.form, "kind": "test", "became": worst, "tests": dict(self.counted)}
            self.write(line | ({"shown": self.shown} if self.shown else {}))
        self.counted, self.shown, self.form = Counter(), [], ""


def main(arguments: list[str]) -> int:
    """Run a module's tests and write its lines; returns the exit code."""
    warnings.simplefilter("ignore")
    about = "the name of a module of tests, such as lib.test_shape_base"
    with line_file(arguments, __doc__, about) as (options, write), tempfile.TemporaryDirectory() as folder:
        write({"body": options.path.stem})
        *folders, name = options.path.stem.split(".")
        copied = shutil.copy(Path(np.__file__).parent.joinpath(*folders, "tests", f"{name}.py"), folder)
        watch = Watch(write, frozenset(options.without), RUNS.get(options.peer))
        quiet = ["-q", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
        pytest.main([*quiet, "--rootdir", folder, "-c", os.devnull, str(copied)], plugins=[watch])
        watch.finish()
    return 0


def form_of(item: Any) -> str:
    """Return the name of a test function with its class, without parameters."""
    names = [item.cls.__name__] if item.cls else []
    return ".".join([*names, item.originalname or item.name])


def making(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's that makes arrays whose operations are tried."""

    def call(*arguments: Any, **named: Any) -> Any:
        return ported(function(*map(plain, arguments), **{name: plain(one) for name, one in named.items()}))

    return call


def unwrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an assertion that is given NumPy's own arrays."""

    def call(*arguments: Any, **named: Any) -> Any:
        return function(*map(plain, arguments), **named)

    return call


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
