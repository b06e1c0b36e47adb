"""Levenshtein distance of two texts."""

import numpy as np

from pyopbench import OwnOp


def edit_distance(a, b):
    a, b = a.decode("utf-8"), b.decode("utf-8")
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int32)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[len(a), len(b)]


def inputs(size, rng):
    letters = np.array(list("abcd é"))
    return tuple(np.array("".join(rng.choice(letters, size)).encode(), dtype=object) for _ in range(2))


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 20, 100),
    size_unit="letters",
    numpy=edit_distance,
    source="word error rates as metrics of speech recognisers, on decoded text",
)
EDGES = {
    "empty": (np.array(b"", object), np.array(b"abc", object)),
    "both empty": (np.array(b"", object), np.array(b"", object)),
    "same": (np.array(b"abc", object), np.array(b"abc", object)),
}
