"""Bodies whose numbers, errors or arrays are easily mistaken."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import numpy as np

# Numbers whose type values decide about, or that no graph has.


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


# Errors that only values decide about, and changes of what is in the module.


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


# Two names that may lead to one list or array.


def two_names_of_a_list_loop(x: Any) -> Any:
    a = [0.0]
    b = a
    s = 0.0
    for t in range(100):
        b[0] = b[0] + x[t % 3]
        s = s + a[0]
        a = [a[0] * 0.5]
        b = a
    return s * x


def best_box(x: Any) -> Any:
    best, box = -1.0, [0.0, 0.0]
    for v in x:
        if v > best:
            best = v
            box = [v, v * 2]
    return np.array(box) * best


def iterator_twice(x: Any) -> Any:
    z = zip(x, x[::-1])  # noqa: B905
    s = 0.0
    for p, q in z:
        s += p * q
    for p, q in z:  # noqa: B007
        s += 100
    return s * x


def deque_state(x: Any) -> Any:
    q = deque([x[0]])
    if x[0] > 0:
        q.append(1.0)
    for v in x:
        if v > 1:
            q.appendleft(2.0)
    return x * len(q)


def corder_loop(x: Any) -> Any:
    y = np.zeros((3, 3))
    for t in range(300):
        y.ravel()[1] += x[t % 3]
        y = y.T
    return y


def ascontig(x: Any) -> Any:
    a = np.outer(x, x)
    b = np.ascontiguousarray(a.T)
    b[0] = 5
    return a, b


def real_view(x: Any) -> Any:
    z = x + 1j
    z.real[0] = 5
    z.imag[1] = 6
    r = z.real
    r += 1
    return np.abs(z)
