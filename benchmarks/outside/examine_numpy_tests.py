"""What becomes of the calls that a test module of TensorFlow's NumPy makes, as ports and in `tf.experimental.numpy`.

The process that `benchmarks/outside/numpy_tests.py` starts for each module; it writes lines as
`benchmarks/bodies/examine.py` does, a form for each group of tests.

    python benchmarks/outside/examine_numpy_tests.py FOLDER/np_test.py --lines FILE

The modules are imported with NumPy in place of the namespace that they test, with a few names that NumPy has no more.
Each call of `_CheckAgainstNumpy` is the function of the test twice: by NumPy, and with each of its own calls as
the port of a body of one line (`ported_calls.py`).
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import re
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from bodies.line_file import line_file
from outside.ported_calls import TOLERANCE, PortedArray, noted, plain, ported
from pyopbench.model.errors import WrongResult
from pyopbench.model.failures import LONGEST_REASON
from pyopbench.ports.arrays import as_array
from pyopbench.worker.prepare.checks import require_equal

MOST_SHOWN = 3
NAMESPACES = ("np_wrapper", "numpy")
STUBS = ("extensions",)
WAYS = ("traced", "tnp")

CASTS = {
    "bfloat16": "bfloat16",
    "float_": np.float64,
    "complex_": np.complex128,
    "int_": np.int64,
    "bool_": np.bool_,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "alltrue": np.all,
    "sometrue": np.any,
    "msort": lambda a: np.sort(a, axis=0),
    "float": float,
    "int": int,
    "bool": bool,
    "complex": complex,
    "object": object,
    "row_stack": np.vstack,
    "in1d": np.isin,
    "trapz": np.trapezoid if hasattr(np, "trapezoid") else None,
    "canonicalize_dtype": np.dtype,
}
"""Names that the tests use and that NumPy has no more, or never had."""


CONVERSIONS = ("array", "asarray")
"""Functions of NumPy's that would return a plain array of one whose operations are tried."""


def _keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def convert(value: Any, *args: Any, **named: Any) -> Any:
        found = function(plain(value), *args, **named)
        return ported(found) if isinstance(value, PortedArray) else found

    return convert


class Namespace(types.ModuleType):
    """NumPy, with the names of `CASTS` where it lacks them."""

    def __getattr__(self, name: str) -> Any:
        """Return what NumPy has by a name."""
        if hasattr(np, name):
            return _keeping(getattr(np, name)) if name in CONVERSIONS else getattr(np, name)
        if name in CASTS:
            return CASTS[name]
        raise AttributeError(f"NumPy has no {name}")


class SortedSet(set[Any]):
    """A set with a fixed order: before Python 3.12, None is hashed by its address, which differs between processes.

    Trax's tables iterate over `set(range(n)) | set([None])`, and ten of their rows are selected by position.
    """

    def __iter__(self) -> Iterator[Any]:
        """Yield the elements, sorted by their `repr`."""
        return iter(sorted(super().__iter__(), key=repr))

    def __or__(self, other: Any) -> SortedSet:  # type: ignore[override]
        """Return the elements of both, also with a fixed order."""
        return SortedSet([*self, *other])


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that tests import from packages that are not installed: in their own folder, or stand-ins."""

    def __init__(self, folder: Path) -> None:
        """Find them in a folder."""
        self.folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return a spec for a module of the tests."""
        is_theirs = name.startswith(("tensorflow.python.ops.numpy_ops.tests", "trax", "distutils"))
        return importlib.util.spec_from_loader(name, self, is_package=True) if is_theirs else None

    def create_module(self, spec: Any) -> Any:
        """Return an empty module, or NumPy in place of the namespace that is tested."""
        last = spec.name.rpartition(".")[2]
        if last in NAMESPACES:
            return Namespace(spec.name)
        return mock.MagicMock(name=spec.name, __path__=[], __spec__=spec) if last in STUBS else None

    def exec_module(self, module: Any) -> None:
        """Run the file of a module of the folder in it."""
        name = module.__spec__.name.rpartition(".")[2]
        path = self.folder / f"{name}.py"
        if name not in (*NAMESPACES, *STUBS) and path.exists():
            module.__dict__["set"] = SortedSet
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
        elif name == "util" and "distutils" in module.__spec__.name:
            module.strtobool = lambda text: text.lower() in ("y", "yes", "t", "true", "on", "1")


class Calls:
    """What became of the calls that the tests of a group make."""

    def __init__(self) -> None:
        self.counted: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
        self.shown: dict[str, list[dict[str, str]]] = {"wrong": [], "refused": [], "failed": []}

    def check(self, name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Call a function of the tests by NumPy and in each way, and note what became of it."""
        try:
            expected = _arrays(function(*_copied(arguments)))
        except Exception:  # noqa: BLE001 - NumPy takes it no more
            expected = None
        if expected is None:
            for way in WAYS:
                self.counted[way]["not tried"] += 1
            return
        became, line, reason = _ported(function, arguments)
        self.counted["traced"][became] += 1
        if became in self.shown and len(self.shown[became]) < MOST_SHOWN:
            shapes = ", ".join(map(_described, tf.nest.flatten(list(arguments))))
            self.shown[became].append({"at": f"{name}({shapes}): {line}"[:LONGEST_REASON], "reason": reason})
        self.counted["tnp"][_became(_in_tnp(function, arguments), expected)] += 1


def main(arguments: Sequence[str]) -> int:
    """Examine a module and write its lines; returns the exit code."""
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    sys.argv = sys.argv[:1]  # the tests read flags
    with line_file(arguments, __doc__) as (options, write):
        for line in examined(options.path, options.without):
            write(line)
    return 0


def examined(path: Path, without: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield for each group of tests of a module its name, and then what became of its calls."""
    sys.meta_path.insert(0, Finder(path.resolve().parent))
    with mock.patch("unittest.skipIf", return_value=lambda test: test):  # many are skipped with NumPy 2
        module: Any = importlib.import_module(f"trax.{path.stem}")
    for name in ("_promote_like_lnp", "_promote_like_tnp"):
        setattr(module, name, lambda function, inexact=False: function)
    yield {"body": path.stem}
    for form, cases in groups_of(module).items():
        if form not in without:
            yield {"begun": form, "kind": "tests"}
            yield {"form": form, "kind": "tests", **_calls_of(cases)}


def groups_of(module: Any) -> dict[str, list[tuple[type[unittest.TestCase], str]]]:
    """Return the tests of a module by the name that is before what they are parameterized by."""
    found: dict[str, list[tuple[type[unittest.TestCase], str]]] = {}
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase) and kind.__module__ == module.__name__:
            for name in unittest.defaultTestLoader.getTestCaseNames(kind):
                found.setdefault(re.split(r"[_0-9]", name)[0], []).append((kind, name))
    return found


def _calls_of(cases: Sequence[tuple[type[unittest.TestCase], str]]) -> dict[str, Any]:
    calls = Calls()
    for kind, name in cases:
        test = kind(name)

        def check(onp_fun: Any, fun: Any, args_maker: Any, *args: Any, name: str = name, **named: Any) -> None:
            calls.check(name, fun, args_maker())

        test._CheckAgainstNumpy = check  # type: ignore[attr-defined]
        test._CompileAndCheck = lambda *args, **named: None  # type: ignore[attr-defined]
        try:
            getattr(test, name)()
        except Exception:  # noqa: BLE001 - it tests what is of the namespace alone
            continue
    became = {way: dict(found) for way, found in calls.counted.items()}
    worst = next((one for one in ("wrong", "failed", "refused") if calls.counted["traced"][one]), "right")
    tried = sum(count for one, count in calls.counted["traced"].items() if one != "not tried")
    return {"became": worst if tried else "not tried", "calls": became, **{k: v for k, v in calls.shown.items() if v}}


def _copied(arguments: Sequence[Any]) -> list[Any]:
    return list(
        tf.nest.map_structure(lambda one: np.array(one) if isinstance(one, np.ndarray) else one, list(arguments))
    )


def _arrays(returned: Any) -> list[Any] | None:
    """Return the arrays of what was returned, None where that is none."""
    several = list(returned) if isinstance(returned, tuple | list) else [returned]
    numbers = (np.ndarray, np.generic, bool, int, float, complex)
    if not several or not all(isinstance(one, numbers) for one in several):
        return None
    arrays = [as_array(one) for one in several]
    return arrays if all(one.dtype.kind in "biufc" for one in arrays) else None


def _ported(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[str, str, str]:
    """Return what becomes of the worst of the calls that a function makes, that call, and the reason."""
    given = tf.nest.map_structure(ported, _copied(arguments))
    with noted() as calls:
        function(*given)
    return calls.worst


def _in_tnp(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], Any]:
    if not isinstance(function, types.FunctionType):
        other = getattr(tnp, getattr(function, "__name__", ""), None)
        return lambda: _required(other)(*_copied(arguments))
    scope = {name: tnp if isinstance(value, Namespace) else value for name, value in function.__globals__.items()}
    cells = tuple(types.CellType(_of_tnp(cell.cell_contents)) for cell in function.__closure__ or ())
    copied = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    return lambda: copied(*_copied(arguments))


def _of_tnp(value: Any) -> Any:
    value = getattr(value, "__wrapped__", value)
    is_numpys = callable(value) and not isinstance(value, type) and getattr(value, "__module__", "") in (None, "numpy")
    name = getattr(value, "__name__", "")
    return getattr(tnp, name, None) if is_numpys and getattr(np, name, None) is value else value


def _required(function: Any) -> Any:
    if function is None:
        raise NotImplementedError("tf.experimental.numpy has no such function")
    return function


def _became(call: Callable[[], Any], expected: Sequence[Any]) -> str:
    try:
        returned = call()
        got = list(returned) if isinstance(returned, tuple | list) else [returned]
        for place, (one, other) in enumerate(zip(got, expected, strict=True)):
            require_equal(f"output {place}", np.asarray(one), other, TOLERANCE.get(other.dtype.name, 0.0))
    except WrongResult:
        return "wrong"
    except Exception:  # noqa: BLE001 - a call of others may raise anything
        return "failed"
    return "right"


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return f"{np.asarray(value).dtype.name}{list(np.shape(value))}"
    return repr(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
