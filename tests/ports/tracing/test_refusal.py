"""A refusal names a line that the user can change: not one of TensorFlow's, of NumPy's or of pyopbench's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.discover import BUILTIN, OPS, PACKAGE
from pyopbench.ports.tracing.refusal import Refused


def refused_in(file: Path) -> Refused:
    """Return a refusal that comes of the second line of a file."""
    names: dict[str, object] = {"Refused": Refused}
    exec(compile("\nfound = Refused('x')\n", str(file), "exec"), names)
    refused = names["found"]
    assert isinstance(refused, Refused)
    return refused


@pytest.mark.parametrize("file", [PACKAGE / "worker" / "prepare" / "node_graph.py", OPS / "variants" / "traced.py"])
def test_a_line_of_pyopbench_is_not_blamed_but_the_next_one_that_called_it(file: Path) -> None:
    place = refused_in(file).place
    assert place is not None
    assert place[0] == __file__


@pytest.mark.parametrize("file", [Path("/home/me/my_op.py"), BUILTIN / "sinh.py"])
def test_a_line_of_an_op_is_named(file: Path) -> None:
    assert refused_in(file).place == (str(file), 2)
