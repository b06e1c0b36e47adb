"""Bodies that catch errors which only values decide about, and that change what is in their module."""

from __future__ import annotations

import functools
import math
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


def bump_class() -> Any:
    Config.scale = 2


@functools.cache
def table_of(n: Any) -> Any:
    return np.arange(n) * 2.0


def raises_two(x: Any) -> Any:
    try:
        if x[0] > 0:
            raise ValueError
        else:  # noqa: RET506
            raise KeyError
    except ValueError:
        y = 1.0
    except KeyError:
        y = 2.0
    return x * y


def caught_helper(x: Any) -> Any:
    try:
        check(x[0])
        y = x * 2
    except ValueError:
        y = x * 3
    return y


def caught_in_loop(x: Any) -> Any:
    n = 0.0
    for v in x:
        try:
            check(v)
        except ValueError:
            continue
        n += v
    return x * n


def math_log_domain(x: Any) -> Any:
    s = 0.0
    for v in x:
        try:
            s += math.log(v)
        except ValueError:  # noqa: PERF203
            s -= 1
    return x * 0 + s


def empty_max(x: Any) -> Any:
    try:
        m = x[x > 1.5].max()
    except ValueError:
        m = 0.0
    return x * m


def bare_except(x: Any) -> Any:
    try:
        v = 1.0 if x[0] > 0 else 2.0
    except:  # noqa: E722
        v = 3.0
    return x * v


def base_except(x: Any) -> Any:
    s = 0.0
    for v in x:
        try:
            s = s + (v if v > 0 else 10.0)
        except BaseException:  # noqa: BLE001, PERF203
            s = s + 100.0
    return x * s


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


def zero_division2(x: Any) -> Any:
    n = int((x > 5).sum())
    try:
        p = 10 // n
    except ZeroDivisionError:
        p = -1
    return np.int64(p)


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


def class_helper(x: Any) -> Any:
    Config.scale = 1
    if x[0] > 0:
        bump_class()
    return x * Config.scale


def module_buffer(x: Any) -> Any:
    buf = BUFFERS["one"]
    buf[:] = 0
    if x[0] > 0:
        buf[0] = 1.0
    return x + buf


def cached_table(x: Any) -> Any:
    return x * table_of(3)[int(np.clip(np.nan_to_num(x[0]), 0, 2))]
