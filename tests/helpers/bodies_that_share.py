"""Bodies in which two names may lead to one list or array."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np


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
