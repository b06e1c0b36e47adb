"""Constants copied from the program: the patched call passes the program's values for comparison."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.advise.copied_constants import (
    REQUIRE_VALUES,
    REQUIRE_VALUES_SOURCE,
    find_copied_constants,
    select_compared,
    select_visible,
)
from pyopbench.ports.extract.extraction import extract

EXPRESSIONS = {"STD": "self.std", "CONFIG_SIZE": "self.config['size']", "FACTOR": "factor"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.load", {"STD": "self.std", "CONFIG_SIZE": "self.config['size']"}),
        ("data.loader.load", {"STD": "data.loader.std", "CONFIG_SIZE": "data.loader.config['size']"}),
        ("make().load", {}),  # it would be called twice
        ("self.transform", {}),  # an object that can be called, or a method of another one
        ("lambda x: x * factor + self.std", {"FACTOR": "factor", "STD": "self.std"}),
        ("lambda x: other(x)", {}),
        ("lambda factor: factor", {}),
        ("load", {}),  # what it captures may not be visible here
    ],
)
def test_a_value_is_passed_if_its_expression_is_valid_at_the_call(body: str, expected: dict[str, str]) -> None:
    assert select_visible(ast.parse(body, mode="eval").body, "load", EXPRESSIONS) == expected
    assert select_visible(None, "load", EXPRESSIONS) == {}


def test_what_helpers_read_and_namespaces_are_not_compared() -> None:
    """The `self` of the helper is another object, also where both have an attribute of the same name."""
    source = "def helper(x):\n    return x * STD_2\n\ndef load(x):\n    return helper(x / STD) + ARGS.size\n"
    constants = {"STD": "self.std", "STD_2": "self.std", "ARGS": "args"}
    port = "STD = 2.0\nSTD_2 = 5.0\nARGS = types.SimpleNamespace(size=3)\n"
    assert select_compared(port, source, "load", constants) == {"STD": "self.std"}
    assert select_compared(port, source, "gone", constants) == {}
    assert select_compared(f"{port}\ndef {REQUIRE_VALUES}(x):\n    return x\n", source, "load", constants) == {}


def test_a_local_variable_of_the_port_is_not_a_copied_constant() -> None:
    text = "import numpy as np\n\nSTD = 0.72\n\n\ndef f(x):\n    FACTOR = 2\n    return x / STD\n"
    assert find_copied_constants(text, EXPRESSIONS) == {"STD": "self.std"}


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A file with a constant and the check, which is imported, so that AutoGraph can convert it."""
    (tmp_path / "a_port_with_constants.py").write_text(f"STD = 2.0\n{REQUIRE_VALUES_SOURCE}")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("a_port_with_constants")
    del sys.modules["a_port_with_constants"]


@pytest.mark.parametrize(
    ("expected", "same", "other"),
    [
        (0.72, 0.72, 0.73),
        (2, 2, 2.0),  # another dtype
        (np.float32(2), np.float32(2), 2.0),
        (np.nan, np.nan, 0.0),
        (np.zeros(3), np.zeros(3), 0.0),  # another shape
        ([1, np.arange(3)], (1, np.arange(3)), [1, np.arange(4)]),  # Keras keeps lists in a class of its own
        ({"size": (2, 3)}, {"size": (2, 3)}, {"size": (2, 4)}),
        ("valid", "valid", "same"),
        (None, None, 0),
        ({1, 2}, {1, 2}, {9}),
        (np.float32, np.float32, np.float64),
        (slice(0, 3), slice(0, 3), slice(5, 9)),
    ],
)
def test_a_file_fails_if_the_program_has_another_value(port: ModuleType, expected: Any, same: Any, other: Any) -> None:
    vars(port)["VALUE"] = expected
    assert getattr(port, REQUIRE_VALUES)(VALUE=same) is port
    with pytest.raises(ValueError, match="VALUE"):
        getattr(port, REQUIRE_VALUES)(VALUE=other)


@pytest.mark.parametrize("std", [2.0, 3.0])
def test_a_map_of_a_dataset_checks_the_value(port: ModuleType, std: float) -> None:
    """AutoGraph converts the function that is mapped, and what it calls."""
    vars(port)["outputs_of"] = lambda inputs: [inputs[0] * 2]
    dataset = tf.data.Dataset.range(3)
    if std == 2.0:
        found = dataset.map(lambda x: port.require_values(STD=std).outputs_of([x]))
        assert [int(one) for (one,) in found] == [0, 2, 4]
        return
    with pytest.raises(ValueError, match="STD"):
        dataset.map(lambda x: port.require_values(STD=std).outputs_of([x]))


def test_a_captured_number_is_a_constant_with_its_expression() -> None:
    factor = 3.0
    found, _, _ = extract(lambda one: one.add(lambda x: x * factor, arguments=1))
    assert [text for _, text in found.spellings] == ["factor"]
