"""Bodies whose numbers have a type that values decide about, or that no graph has."""

from __future__ import annotations

from typing import Any

import numpy as np


def total(v: Any) -> Any:
    s = 0
    for i in range(100):
        s += v[i % 3]
    return s


def flag_is_true(x: Any) -> Any:
    found = False
    for v in x:
        if v > 1.5:
            found = True
    if found is True:
        return x * 2
    return x * 3


def type_is_array(x: Any) -> Any:
    if type(x) is np.ndarray:
        return x * 2
    return x * 3


def type_is_list(x: Any) -> Any:
    v = [x[0], x[1]]
    if type(v) is list:
        return np.array(v)
    return np.array(v) * 100


def int_or_float_full(x: Any) -> Any:
    fill = 0
    if x[0] > 0:
        fill = 0.5
    out = np.full(3, fill)
    out[1] = 0.7
    return out * 1.0


def int_or_float_array(x: Any) -> Any:
    v = 0
    if x[0] > 0:
        v = 0.5
    out = np.array([v, v])
    out[1] = 0.7
    return out * 1.0


def int_or_float_scale(x: Any) -> Any:
    scale = 2
    if x[0] > 100:
        scale = 0.5
    return np.clip(x * scale, 0, 255).astype(np.uint8)


def python_round(x: Any) -> Any:
    v = float(x[0]) + 1.115 - float(x[0])
    return x * round(v, 2)


def total_of_two(x: Any) -> Any:
    a = total(x)
    b = total(np.arange(3) + (x > 0))
    return a, b


def while_true(x: Any) -> Any:
    x = np.nan_to_num(x)
    n = 0
    while True:
        x = x / 2
        n += 1
        if np.abs(x).max() < 0.1:
            break
    return x, np.int64(n)


def conditional_name(x: Any) -> Any:
    last = 0.0
    for i in range(100):
        if x[i % 3] > 0:
            last = x[i % 3] * i
    return x * last


def prev_none(x: Any) -> Any:
    prev = None
    s = 0.0
    for t in range(100):
        if prev is not None:
            s += prev * x[t % 3]
        prev = x[t % 3]
    return x * 0 + s
