"""A body that Numba compiles, as a port of it is written, and NumPy's values of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.model.files import load_file
from pyopbench.model.syntax import read_source
from pyopbench.ports.extract.extraction import extract
from pyopbench.ports.for_numba.types import types_of
from pyopbench.ports.functions.sources import FOR_NUMBA, source_of
from pyopbench.ports.porting.body_code import BodyCode, body_name
from pyopbench.ports.porting.module_text import Units, module_text
from pyopbench.ports.porting.writers import DECORATOR


def compiled(body: Any, *inputs: Any) -> Any:
    """Return the compiled body of the port to Numba that is written of a function, from one call of it.

    Args:
        body: takes arrays and numbers.
        inputs: the arguments of the call; of the first call of what is returned, if there are none.
    """
    pytest.importorskip("numba")
    if not inputs:
        return lambda *given: compiled(body, *given)(*given)
    extracted, loaded, _ = extract(lambda extraction: extraction.add(body))
    name = extracted.names[-1]
    units = Units(read_source(extracted.path), name)
    types = types_of(vars(loaded)[name], [inputs])
    code = BodyCode(units, name, DECORATOR, types)
    statements = code.write_units().values()
    parts = [*source_of(code.helpers, FOR_NUMBA).values(), *statements]
    text = module_text("A body for Numba.", parts, units)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compiled_body.py"
        path.write_text(text, encoding="utf-8")
        return getattr(load_file(path, f"compiled_body_{abs(hash(text))}"), body_name(name))


def require_equal_to_numpy(body: Any, *inputs: Any) -> None:
    """Require values, shapes and dtypes of a body that returns several arrays to be NumPy's.

    Raises:
        AssertionError: an output differs.
        Exception: whatever Numba or the body raises.
    """
    expected = body(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in inputs))
    found = compiled(body)(*inputs)
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    assert len(found) == len(expected)
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.shape(one) == np.shape(other), place
        assert not isinstance(one, np.ndarray) or one.dtype == other.dtype, (place, one.dtype, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=str(place))
