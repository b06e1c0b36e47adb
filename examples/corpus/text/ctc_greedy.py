"""Greedy CTC decoding: the best label of each frame, repeats and blanks left out, padded with -1."""

import numpy as np

from pyopbench import OwnOp


def ctc_greedy_decode(logits, lengths, blank=0):
    best = np.argmax(logits, axis=-1)
    out = -np.ones(best.shape, dtype=np.int32)
    for b in range(best.shape[0]):
        prev = blank
        k = 0
        for t in range(lengths[b]):
            c = best[b, t]
            if c != blank and c != prev:
                out[b, k] = c
                k += 1
            prev = c
    return out


def inputs(size, rng):
    logits = rng.normal(0, 1, (4, size, 6)).astype(np.float32)
    return logits, rng.integers(1, size + 1, 4).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 256),
    size_unit="frames",
    numpy=ctc_greedy_decode,
    differentiable=(),
    source="metrics of OCR and speech models",
)
EDGES = {
    "no frames": (np.zeros((2, 3, 4), np.float32), np.zeros(2, np.int32)),
    "ties": (np.ones((2, 3, 4), np.float32), np.array([3, 1], np.int32)),
}
