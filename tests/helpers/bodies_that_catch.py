"""Bodies that catch errors which only values decide about, and that change what is in their module."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

CACHE: dict[str, Any] = {}
BUFFERS = {"one": np.zeros(3)}


class Config:
    scale = 1.0


CONFIG = Config()


def check(v: Any) -> Any:
    if v <= 0:
        raise ValueError("no")


def bump() -> Any:
    CONFIG.scale = 2


@functools.cache
def table_of(n: Any) -> Any:
    return np.arange(n) * 2.0


def caught_helper(x: Any) -> Any:
    try:
        check(x[0])
        y = x * 2
    except ValueError:
        y = x * 3
    return y


def name_error(x: Any) -> Any:
    if x[0] > 0:
        y = x * 2
    try:
        z = y + 1
    except NameError:
        z = x * 5
    return z


def swallowed_refusal(x: Any) -> Any:
    y = x
    try:
        if x[0] > 0:
            y = np.asarray(x).view(np.int64) * 1.0
    except Exception:  # noqa: BLE001
        y = x * 5
    return y


def zero_division(x: Any) -> Any:
    tp = 0
    fp = 0
    for v in x:
        if v > 0:
            tp += 1
        if v > 5:
            fp += 1
    try:
        p = fp / tp
    except ZeroDivisionError:
        p = -1.0
    return np.float64(p)


def module_cache(x: Any) -> Any:
    if x[0] > 0:
        CACHE["a"] = 2
    else:
        CACHE["a"] = 3
    return x * CACHE["a"]


def config_helper(x: Any) -> Any:
    CONFIG.scale = 1
    if x[0] > 0:
        bump()
    return x * CONFIG.scale


def module_buffer(x: Any) -> Any:
    buf = BUFFERS["one"]
    buf[:] = 0
    if x[0] > 0:
        buf[0] = 1.0
    return x + buf


def cached_table(x: Any) -> Any:
    return x * table_of(3)[int(np.clip(np.nan_to_num(x[0]), 0, 2))]
