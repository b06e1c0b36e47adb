"""Loops and `if`s on values: joined where they end, as one graph for all inputs of a shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.tracing.refusal import Refused
from traced_compare import graph

INPUTS = [np.array(one) for one in ([3.0, -1, 2], [-3.0, 1, -2], [1.0, 1, 2], [2.0, 0, 3], [0.0, np.nan, 0])]


def joined(x: Any) -> Any:
    y, total = x.copy(), 0.0
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = 7
            total += x[i]
        elif x[i] < -1:
            y *= -1
    return y, total


def of_two_dtypes(x: Any) -> Any:
    scale = 2
    if x[0] > 0:
        scale = 0.5
    y = np.arange(3)
    if x[1] > 0:
        y = x * 2
    return x * scale, y * 0.5


def skipping(x: Any) -> Any:
    out, k = np.zeros(3), 0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        out[k] = x[i]
        k += 1
    return out, np.int64(k)


def leaving(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if not x[i] >= 0:
            break
        total += x[i]
    return total + i


def returning(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] < 0:
            return np.int64(i)
    return np.int64(-1)


def halving(x: Any) -> Any:
    steps = 0
    while steps < 5 and x.max() > 1:
        x = x / 2
        steps += 1
    return x, np.int64(steps)


def as_long_as_a_value(x: Any) -> Any:
    n = int(np.nan_to_num(np.clip(x[2], 0, 3)))
    out = np.zeros(4)
    for i in range(n):
        for j in range(i, n):
            if x[j] > 1:
                out[i] += x[j]
    return out


def long(x: Any) -> Any:
    mean, last = np.zeros_like(x), 0
    for t in reversed(range(300)):
        mean += np.sin(x * t)
        last = mean * 0.5 + last
    return mean, last, t


def of_lists(x: Any) -> Any:
    previous = [0, 1, 2, 3]
    for i, h in enumerate(x):
        current = [i + 1]
        for j, r in enumerate(x[::-1]):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (h != r)))
        previous = current
    return np.float32(previous[-1])


def ranks(x: Any) -> Any:
    found = np.empty(len(x))
    order = np.argsort(x, kind="stable")
    s = x[order]
    i = 0
    while i < len(s):
        j = i
        while j + 1 < len(s) and s[j + 1] == s[i]:
            j += 1
        found[order[i : j + 1]] = 0.5 * (i + j) + 1
        i = j + 1
    return found


def suppressed(x: Any) -> Any:
    order, keep = np.argsort(-x, kind="stable"), []
    while len(order) > 0:
        i = order[0]
        keep.append(i)
        rest = order[1:]
        order = rest[np.where(np.abs(x[rest] - x[i]) > 1)[0]]
    return np.array(keep, dtype=np.int64), len(keep) > 1


def rows(x: Any) -> Any:
    found, both = [x], []
    for t in range(200):
        x = x * 0.9 + t
        found.append(x)
        both.append(x.mean())
    return np.array(found), np.mean(both), np.array(both)[-1]


def paired(x: Any) -> Any:
    table = np.zeros((3, 3))
    for t, p in zip(np.arange(3), np.argsort(x, kind="stable")):  # noqa: B905 - as such code is written
        table[t][p] += 1
    return table


def cut(x: Any) -> Any:
    lengths = np.tile(np.argsort(x, kind="stable"), 14)
    values = np.arange(44.0)
    parts = np.split(values, np.cumsum(lengths)[:-1])
    found = np.zeros((len(lengths), 2))
    for place, part in enumerate(parts):
        if not len(part):
            continue
        found[place, : len(part)] = part[:2]
    return found, parts[3], np.digitize(values[:5], np.sort(x)), np.digitize(values[:5], np.sort(x)[::-1])


def helped(x: Any) -> Any:
    found = []

    def visit(one: Any) -> None:
        if one > 0:
            found.append(one)
        else:
            found.append(-one)

    for one in x:
        visit(one)
    return np.array(found)


BODIES = (
    *(
        joined,
        of_two_dtypes,
        skipping,
        leaving,
        returning,
        halving,
        as_long_as_a_value,
        long,
        of_lists,
        ranks,
        suppressed,
        rows,
    ),
    *(paired, cut, helped),
)


@pytest.mark.parametrize("body", BODIES)
def test_a_loop_is_what_it_is_in_numpy(body: Any) -> None:
    traced = graph(body, INPUTS[0])
    for x in INPUTS:
        found, expected = traced(x), body(x.copy())
        several = isinstance(expected, tuple)
        for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
            assert one.dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_long_loop_is_one_loop_of_the_graph() -> None:
    nodes = graph(long, INPUTS[0]).get_concrete_function().graph.as_graph_def().node
    assert len(nodes) < 100
    assert any("While" in node.op for node in nodes)


def triangles(n: int) -> Any:
    bank = np.zeros((n, 30))
    edges = np.linspace(0, 29, n + 2).astype(int)
    for m in range(n):
        for k in range(edges[m], edges[m + 1]):
            bank[m, k] = (k - edges[m]) / (edges[m + 1] - edges[m])
    return bank


def test_a_long_loop_over_what_is_known_makes_a_constant() -> None:
    def body(x: Any) -> Any:
        return triangles(40) @ x

    x = np.linspace(0, 1, 30)
    port = graph(body, x)
    types = {one.type for one in port.get_concrete_function().graph.get_operations()}
    assert not {one for one in types if "While" in one or "If" in one}
    np.testing.assert_allclose(port(x), body(x))


def test_a_loop_of_the_graph_has_a_gradient() -> None:
    def body(x: Any) -> Any:
        total = 0.0
        for t in range(100):
            if x[t % 3] > 0:
                total += x[t % 3] ** 2
            else:
                total -= x[t % 3]
        return total

    x = tf.constant(INPUTS[0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = graph(body, INPUTS[0])(x)
    np.testing.assert_allclose(tape.gradient(y, x), [2 * 3 * 34, -33, 2 * 2 * 33])


def writes_to_either(x: Any) -> Any:
    y = x * 2
    z = y
    if x[0] > 0:
        z = x + 1
    z[0] = 100
    return y, z


def shows_what_is_written_later(x: Any) -> Any:
    y = np.zeros(3)
    z = y
    for i in range(int(np.nan_to_num(np.clip(x[0], 0, 2)))):
        z = x + i
    y[1] = 5
    return y + 0, z


def writes_to_one_of_two_names(x: Any) -> Any:
    if x[0] > 0:
        y = x * 2
        z = y
    else:
        y = x * 3
        z = y[:2]
    y[0] = 7
    return y, z


def appends_one_array_again_and_again(x: Any) -> Any:
    found, state = [], np.zeros(3)
    for t in range(200):
        state[t % 3] += x[0]
        found.append(state)
    return np.array(found), state


@pytest.mark.parametrize(
    "body",
    [writes_to_either, writes_to_one_of_two_names, appends_one_array_again_and_again, shows_what_is_written_later],
)
def test_arrays_that_may_be_the_same_are_never_taken_for_two(body: Any) -> None:
    try:
        traced = graph(body, INPUTS[0])
        found = [traced(x) for x in INPUTS]
    except Refused:
        return
    for x, outputs in zip(INPUTS, found, strict=True):
        for one, other in zip(outputs, body(x.copy()), strict=True):
            np.testing.assert_array_equal(one, other)


def grows(x: Any) -> Any:
    y = x
    for _ in range(int(np.nan_to_num(x[0]))):
        y = y[None]
    return y


def keeps_text(x: Any) -> Any:
    names = []
    while x.max() > 1:
        names.append("one")
        x = x / 2
    return x


@pytest.mark.parametrize(("body", "said"), [(grows, "a round of it leaves"), (keeps_text, "")])
def test_a_loop_that_no_graph_has_is_refused_with_its_line(body: Any, said: str) -> None:
    with pytest.raises(Refused) as refused:
        graph(body, INPUTS[0]).get_concrete_function()
    assert said in str(refused.value)
    assert refused.value.place is not None
    file, line = refused.value.place
    assert file == __file__
    assert body.__code__.co_firstlineno < line <= body.__code__.co_firstlineno + 4
