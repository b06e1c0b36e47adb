"""TensorFlow's module is found as others find it, and wrapped once it has been run; nothing else is touched."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyopbench.find.injected import finder
from pyopbench.find.injected.recorder import Recorder


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A recorder that waits for a module of the test's own."""
    monkeypatch.setenv(finder.VARIABLE, str(tmp_path))
    monkeypatch.setattr(finder, "MODULE", "made_up_script_ops")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_up_script_ops", raising=False)
    (tmp_path / "made_up_script_ops.py").write_text("value = 7\n", encoding="utf-8")
    return finder.wait_for_tensorflow()


def test_the_module_is_wrapped_when_it_has_been_run(made: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[Any] = []
    monkeypatch.setattr(made, "install", lambda module: installed.append(module.value))
    module: ModuleType = importlib.import_module("made_up_script_ops")
    assert (module.value, installed) == (7, [7])


def test_a_module_that_is_not_as_expected_is_left_alone_with_word_of_it(
    made: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = AttributeError("it has no eager_py_func")

    def refuse(module: ModuleType) -> None:
        raise why

    monkeypatch.setattr(made, "install", refuse)
    assert importlib.import_module("made_up_script_ops").value == 7
    assert made.trouble == f"made_up_script_ops is not as expected: {why!r}"


def test_a_module_without_the_functions_that_are_wrapped_is_left_alone(made: Recorder) -> None:
    assert importlib.import_module("made_up_script_ops").value == 7
    assert made.trouble


def test_every_other_module_is_found_by_the_others(made: Recorder) -> None:
    assert sys.meta_path[0].find_spec("json", None) is None
