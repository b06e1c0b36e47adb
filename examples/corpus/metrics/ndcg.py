"""NDCG of a ranking, per query, averaged."""

import numpy as np

from pyopbench import OwnOp

K = 10


def dcg_at_k(rel, k):
    rel = np.asarray(rel, dtype=float)[:k]
    if rel.size:
        return np.sum((2**rel - 1) / np.log2(np.arange(2, rel.size + 2)))
    return 0.0


def ndcg(relevance, scores):
    total = 0.0
    for rel, s in zip(relevance, scores):
        order = np.argsort(-s, kind="stable")
        best = dcg_at_k(np.sort(rel)[::-1], K)
        if best == 0:
            continue
        total += dcg_at_k(rel[order], K) / best
    return np.float32(total / max(len(relevance), 1))


def inputs(size, rng):
    return rng.integers(0, 4, (size, 20)).astype(np.int32), rng.random((size, 20), dtype=np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 32, 512),
    size_unit="queries",
    numpy=ndcg,
    differentiable=(),
    source="ranking models and recommenders",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.int32), np.zeros((0, 4), np.float32)),
    "nothing relevant": (np.zeros((2, 4), np.int32), np.ones((2, 4), np.float32)),
    "ties": (np.array([[1, 0, 2]], np.int32), np.ones((1, 3), np.float32)),
}
