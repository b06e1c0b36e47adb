"""Values of the program that a file contains as constants: the patch hands over those that the program has."""

from __future__ import annotations

import ast
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.advise.fixed_values import CHECK, MADE_WITH, at_call, fixed_names

SPELLINGS = {"STD": "self.std", "CONFIG_SIZE": "self.config['size']", "FACTOR": "factor"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.load", {"STD": "self.std", "CONFIG_SIZE": "self.config['size']"}),
        ("data.loader.load", {"STD": "data.loader.std", "CONFIG_SIZE": "data.loader.config['size']"}),
        ("make().load", {}),  # it would be called twice
        ("lambda x: x * factor", {"FACTOR": "factor"} | {name: SPELLINGS[name] for name in ("STD", "CONFIG_SIZE")}),
        ("lambda factor: factor", {name: SPELLINGS[name] for name in ("STD", "CONFIG_SIZE")}),
        ("load", {}),  # what it captures may not be visible here
    ],
)
def test_a_value_is_handed_over_where_it_can_be_written(body: str, expected: dict[str, str]) -> None:
    assert at_call(ast.parse(body, mode="eval").body, SPELLINGS) == expected
    assert at_call(None, SPELLINGS) == {}


def test_only_constants_of_the_file_are_values_that_it_contains() -> None:
    text = "import numpy as np\n\nSTD = 0.72\n\n\ndef f(x):\n    FACTOR = 2\n    return x / STD\n"
    assert fixed_names(text, SPELLINGS) == {"STD": "self.std"}


@pytest.mark.parametrize(
    ("mine", "same", "other"),
    [
        (0.72, np.float32(0.72).astype(np.float64) * 0 + 0.72, 0.73),
        (np.nan, np.nan, 0.0),
        ([1, np.arange(3)], [1, np.arange(3)], [1, np.arange(4)]),
        ({"size": (2, 3)}, {"size": (2, 3)}, {"size": (2, 4)}),
        ("valid", "valid", "same"),
        (None, None, 0),
        (SimpleNamespace(a=1), SimpleNamespace(a=1), SimpleNamespace(a=2)),
    ],
)
def test_a_file_fails_if_the_program_has_another_value(mine: Any, same: Any, other: Any) -> None:
    module = ModuleType("a_port_with_constants")
    exec(CHECK, vars(module))
    vars(module)["VALUE"] = mine
    sys.modules[module.__name__] = module
    try:
        assert getattr(module, MADE_WITH)(VALUE=same) is module
        with pytest.raises(ValueError, match="VALUE"):
            getattr(module, MADE_WITH)(VALUE=other)
    finally:
        del sys.modules[module.__name__]
