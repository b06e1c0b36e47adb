"""BLEU of a sequence of ids against a reference, with smoothing by one."""

from collections import Counter

import numpy as np

from pyopbench import OwnOp


def ngram_counts(seq, n):
    return Counter(tuple(seq[i : i + n]) for i in range(len(seq) - n + 1))


def bleu(hyp, ref, max_n=4):
    hyp, ref = hyp.tolist(), ref.tolist()
    if len(hyp) == 0:
        return np.float32(0.0)
    log_p = 0.0
    for n in range(1, max_n + 1):
        h, r = ngram_counts(hyp, n), ngram_counts(ref, n)
        overlap = sum((h & r).values())
        log_p += np.log((overlap + 1) / (sum(h.values()) + 1)) / max_n
    bp = 1.0 if len(hyp) > len(ref) else np.exp(1 - len(ref) / len(hyp))
    return np.float32(bp * np.exp(log_p))


def inputs(size, rng):
    return rng.integers(0, 5, size).astype(np.int32), rng.integers(0, 5, size + 2).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(5, 20, 100),
    size_unit="tokens",
    numpy=bleu,
    source="rewards and metrics of translation models",
)
EDGES = {
    "empty": (np.zeros(0, np.int32), np.ones(3, np.int32)),
    "one": (np.ones(1, np.int32), np.ones(1, np.int32)),
}
