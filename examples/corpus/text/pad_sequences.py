"""Sequences that stand one behind another, padded to the same length or cut."""

import numpy as np

from pyopbench import OwnOp

MAXLEN = 12


def pad_sequences(values, lengths, value=0, padding="post", truncating="pre"):
    sequences = np.split(values, np.cumsum(lengths)[:-1])
    x = np.full((len(lengths), MAXLEN), value, dtype=values.dtype)
    for idx, s in enumerate(sequences):
        if not len(s):
            continue
        trunc = s[-MAXLEN:] if truncating == "pre" else s[:MAXLEN]
        if padding == "post":
            x[idx, : len(trunc)] = trunc
        else:
            x[idx, -len(trunc) :] = trunc
    return x


def inputs(size, rng):
    lengths = rng.integers(0, 20, size).astype(np.int32)
    return rng.integers(1, 1000, lengths.sum()).astype(np.int32), lengths


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 256),
    size_unit="sequences",
    numpy=pad_sequences,
    source="text models that were written before RaggedTensor",
)
EDGES = {
    "nothing in any": (np.zeros(0, np.int32), np.zeros(3, np.int32)),
    "one": (np.arange(1, 30, dtype=np.int32), np.array([29], np.int32)),
}
