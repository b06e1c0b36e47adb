"""Settings in a dict or an object are constants after compilation."""

from __future__ import annotations

import argparse
import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np

from agreement import require_equal_to_numpy

SETTINGS = {"scale": 0.9, "shift": -1, "sizes": [2, 3], 7: 2}
ARGS = argparse.Namespace(gamma=0.5, mode="square")
SPACE = SimpleNamespace(low=0.0, high=-0.25)


@dataclasses.dataclass
class Config:
    margin: float = 1.5
    is_on: bool = True


class Limits:
    most = 3


CONFIG = Config()


def with_settings(x: Any) -> Any:
    y = SETTINGS["scale"] * x + SETTINGS["shift"] ** 2
    if ARGS.mode == "square" and CONFIG.is_on:
        y = y * y
    a, b = SETTINGS["sizes"]
    return (
        y * ARGS.gamma,
        np.zeros((a, b)),
        np.maximum(x, CONFIG.margin),
        x - SPACE.high,
        x[: Limits.most],
        x * SETTINGS[7],
    )


def test_values_and_dtypes_are_those_of_numpy() -> None:
    require_equal_to_numpy(with_settings, np.arange(5, dtype=np.float32))


def test_a_local_name_is_no_setting() -> None:
    def shadowed(x: Any) -> Any:
        SETTINGS = (3.0, 4.0)  # noqa: N806
        return x * SETTINGS[1], x

    require_equal_to_numpy(shadowed, np.ones(2))
