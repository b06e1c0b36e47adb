"""The files of a revision stand in for the working tree: paths are moved, and what is not is found out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import Target, own_ops
from pyopbench.model.side import CHECKOUT_VARIABLE, Checkout, require_from_checkout


@pytest.fixture
def made(tmp_path: Path) -> Checkout:
    """Return a checkout of a repository that has the cache in itself, as a careless XDG_CACHE_HOME puts it."""
    repository = tmp_path.resolve() / "repository"
    folder = repository / "cache" / "revision"
    for one in (repository / "src", repository / "deep" / "er", folder / "src", folder / "deep"):
        one.mkdir(parents=True)
    return Checkout(repository, folder, tmp_path / "package")


def test_paths_of_the_repository_are_moved_and_no_others(made: Checkout, tmp_path: Path) -> None:
    assert made.moved(made.repository / "src" / "op.py") == made.folder / "src" / "op.py"
    assert made.moved(made.repository) == made.folder
    assert made.moved(made.folder / "src") == made.folder / "src"
    assert made.moved(tmp_path / "elsewhere") == tmp_path.resolve() / "elsewhere"


@pytest.mark.parametrize(("here", "there"), [("src", "src"), ("deep/er", "deep"), (".", "."), ("..", "../../..")])
def test_the_current_folder_is_the_nearest_that_the_revision_has(
    made: Checkout, monkeypatch: pytest.MonkeyPatch, here: str, there: str
) -> None:
    monkeypatch.chdir(made.repository / here)
    assert made.current_folder == (made.folder / there).resolve()


def test_a_worker_finds_ops_and_modules_in_the_checkout(
    made: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    file = made.repository / "src" / "op.py"
    monkeypatch.setenv("PYTHONPATH", f"{made.repository / 'deep'}{os.pathsep}{tmp_path / 'other'}")
    inside = [str(made.repository / "src"), str(made.repository / "gone"), str(made.repository / "site-packages")]
    monkeypatch.setattr(sys, "path", [*inside, "", *sys.path])
    found = made.variables()
    assert found["PYTHONPATH"].split(os.pathsep) == [
        str(tmp_path.resolve() / "package"),
        str(made.folder / "src"),
        str(made.folder / "deep"),
        str(tmp_path.resolve() / "other"),
    ]
    own = made.moved_ops(own_ops(Target("op", str(file), "body", ("x.npy", "y=y.npy", "z=1"))))
    assert own["op"].place == str(made.folder / "src" / "op.py")
    here = tmp_path.resolve()
    assert own["op"].inputs == (str(here / "x.npy"), f"y={here / 'y.npy'}", "z=1"), "inputs are the command line's"
    assert json.loads(found[CHECKOUT_VARIABLE])["folder"] == str(made.folder)


def test_a_module_from_the_working_tree_is_refused(made: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {CHECKOUT_VARIABLE: made.variables()[CHECKOUT_VARIABLE]}
    module = ModuleType("helper_of_a_test")
    monkeypatch.setitem(sys.modules, "helper_of_a_test", module)
    for allowed in (made.folder / "helper.py", made.repository / "v" / "site-packages" / "helper.py"):
        module.__file__ = str(allowed)
        require_from_checkout(told)
    module.__file__ = str(made.repository / "src" / "helper.py")
    require_from_checkout({})
    with pytest.raises(BadInput) as refused:
        require_from_checkout(told)
    assert refused.value.received == f"helper_of_a_test, from {module.__file__}"
