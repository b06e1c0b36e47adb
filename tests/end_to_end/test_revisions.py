"""Real workers of two revisions: each finds the op and what it imports in its own worktree, and computes its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.engine import plan, sides
from pyopbench.model.case import Axes
from pyopbench.model.discover import read_ops
from pyopbench.store.run import read_plan
from repositories import commit, repository

pytestmark = pytest.mark.slow

OP = """
import numpy as np

from pyopbench import OwnOp
from helpers.scale import scaled

OP = OwnOp(inputs=(np.arange(8, dtype=np.float32),), numpy=scaled, differentiable=())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository whose second commit changes a helper that the op imports, and whose third breaks it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = repository(tmp_path / "project")
    commit(folder, {"my_op.py": OP, "helpers/scale.py": "def scaled(x):\n    return x * 2\n"}, "double")
    commit(folder, {"helpers/scale.py": "def scaled(x):\n    return x * 3\n"}, "triple")
    commit(folder, {"helpers/scale.py": "import no_such_module\n"}, "broken")
    monkeypatch.chdir(folder)
    return folder


def test_each_revision_is_planned_and_computed_in_its_own_worktree(project: Path, tmp_path: Path) -> None:
    names, own = read_ops(["my_op.py"], [])
    axes = Axes(ops=tuple(names), variants=("py_function_numpy", "numpy_function"), parts=False, quick=True)
    revisions = ("HEAD~2", "HEAD~1", "HEAD")
    begun = sides.begin(
        tmp_path / "run", plan.Request(axes, plan.QUICK, ("pyopbench", "run"), own=own, revisions=revisions)
    )
    first, second, broken, twin = begun.plan.sides
    assert begun.plan == read_plan(begun.folder), "it is held as it is read back"
    (difference,) = second.values.differences
    assert (second.values.compared, difference.kind) == (1, "outputs")
    assert difference.reason == (
        "output 0 differs at index [7]: expected 14.0, got 21.0 (relative error 0.5, tolerance 1e-05)"
    )
    assert broken.problem is not None
    assert "no_such_module" in broken.problem
    assert [side.side for side in begun.measured] == [first, second, twin]
    assert first.cases == second.cases
