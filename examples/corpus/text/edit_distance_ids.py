"""Levenshtein distance of two sequences of ids over the length of the second, by two rows."""

import numpy as np

from pyopbench import OwnOp


def token_error_rate(hyp, ref):
    hyp = [t for t in hyp if t != 0]
    ref = [t for t in ref if t != 0]
    previous = list(range(len(ref) + 1))
    for i, h in enumerate(hyp):
        current = [i + 1]
        for j, r in enumerate(ref):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (h != r)))
        previous = current
    return np.float32(previous[-1] / max(len(ref), 1))


def inputs(size, rng):
    ids = rng.integers(1, 6, (2, size)).astype(np.int32)
    ids[0, size - size // 4 :] = 0
    return tuple(ids)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 20, 100),
    size_unit="tokens",
    numpy=token_error_rate,
    source="metrics of sequence models, on ids with padding",
)
EDGES = {
    "empty": (np.zeros(0, np.int32), np.zeros(0, np.int32)),
    "padding only": (np.zeros(3, np.int32), np.zeros(2, np.int32)),
    "one": (np.ones(1, np.int32), np.array([2], np.int32)),
}
