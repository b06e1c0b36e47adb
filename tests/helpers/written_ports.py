"""Ports of functions that a test writes down: their text, and what becomes of their own test in this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from places import ROOT
from pyopbench.model.files import load_file
from pyopbench.model.op import Body, Op, Own
from pyopbench.model.own_target import read_target
from pyopbench.ops.own import load as own_load
from pyopbench.ops.variants.numpy_ports import check_compiled
from pyopbench.ports.arrays import as_array, as_given, as_outputs, dtype_of
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import import_text
from pyopbench.ports.porting.port import write_port, write_test
from pyopbench.ports.porting.writers import PortModule
from pyopbench.ports.rebinding import returning_arrays

CORPUS = ROOT / "examples" / "corpus"


@dataclass(frozen=True)
class Ported:
    """A port and its test, as text; all else is of the port."""

    module: PortModule
    test: str

    @property
    def port(self) -> str:
        """The text of the port."""
        return self.module.text

    def with_text(self, text: str) -> Ported:
        """Return another port with the same test."""
        return replace(self, module=replace(self.module, text=text))

    def __getattr__(self, name: str) -> Any:
        """Return what the port has."""
        return getattr(self.module, name)


def write(text: str, *inputs: str, to: str = "traced", module: str = "ported") -> Ported:
    """Return the port of what a command line names."""
    own_load.load_own.cache_clear()
    target = read_target(text, inputs, [])
    op = own_load.load_own(target)
    if to.startswith("numba_op"):
        check_compiled(op, to)
    made = write_port(op, to)
    return Ported(made, write_test(op, target, to, module, made))


def write_source(folder: Path, source: str, *inputs: str, to: str = "traced") -> Ported:
    """Return the port of the function `body` of a source."""
    path = folder / f"mine_{abs(hash(source))}.py"
    path.write_text(f"import numpy as np\n\n\n{source}", encoding="utf-8")
    return write(f"{path}:body", *inputs, to=to)


def port_of(body: Body, *arrays: Any) -> Body:
    """Return the port of a function, written from one call of it.

    Args:
        body: takes arrays and returns an array, a number or a tuple of them.
        arrays: the arguments of the call.
    """
    returned = body(*as_given(arrays))
    op = Op(
        name="body",
        summary="",
        source="",
        make_inputs=lambda size, dtype, rng: arrays,
        numpy=returning_arrays(body, returned),
        sizes=(1,),
        quick_sizes=(1,),
        dtypes=(arrays[0].dtype.name,),
        outputs=tuple(dtype_of(as_array(one)) for one in as_outputs(returned)),
        own=Own(fixed_sizes=True),
    )
    port = write_port(op, "traced")
    found: Body = getattr(import_text("body_traced", port.text), port.function)
    return found


def body_of(made: Ported) -> str:
    """Return what is below the docstring of the last function of a port."""
    return made.port.rpartition('"""\n')[2].strip()


def line_of(refusal: CannotPort) -> str:
    """Return the line of the user's code that a refusal names."""
    assert refusal.place is not None
    file, line = refusal.place
    return Path(file).read_text(encoding="utf-8").splitlines()[line - 1].strip()


def lines_of(text: str) -> set[str]:
    """Return the lines of a text."""
    return set(text.splitlines())


def flat(nest: Any) -> list[Any]:
    """Return the arrays of a nest."""
    return [one for part in nest for one in flat(part)] if isinstance(nest, list | tuple) else [np.asarray(nest)]


TOLERANCE = {"float16": 2e-3, "float32": 1e-4, "complex64": 1e-4}
"""Of what is compared, by dtype; of wider ones 1e-9."""


def difference(found: Any, expected: Any) -> str:
    """Return how outputs differ from those of NumPy; empty where they do not."""
    for one, other in zip(flat(found), flat(expected), strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{one.dtype} {one.shape}, not {other.dtype} {other.shape}"
        if other.dtype.kind in "fc":
            close = TOLERANCE.get(other.dtype.name, 1e-9)
            if not np.allclose(one, other, rtol=close, atol=close, equal_nan=True):
                return f"{one}, not {other}"
        elif not np.array_equal(one, other):
            return f"{one}, not {other}"
    return ""


def run_its_test(made: Ported, folder: Path, monkeypatch: pytest.MonkeyPatch, module: str = "ported") -> list[str]:
    """Run the test that was written beside a port; return the names of its functions."""
    (folder / f"{module}.py").write_text(made.port, encoding="utf-8")
    (folder / "test_ported.py").write_text(made.test, encoding="utf-8")
    # Compiled files are distinguished by second and size: another text of the same length would not be run.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(str(folder))
    written = vars(load_file(folder / "test_ported.py", "test_ported"))
    tests = {name: one for name, one in written.items() if name.startswith("test_")}
    for test in tests.values():
        test()
    return list(tests)
