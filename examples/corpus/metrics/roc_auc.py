"""Area under the ROC curve, by ranks with ties."""

import numpy as np

from pyopbench import OwnOp


def roc_auc(y_true, y_score):
    y_true = y_true.ravel().astype(bool)
    y_score = y_score.ravel()
    n_pos, n_neg = y_true.sum(), (~y_true).sum()
    if n_pos == 0 or n_neg == 0:
        return np.nan
    order = np.argsort(y_score, kind="mergesort")
    s = y_score[order]
    ranks = np.empty(len(s))
    i = 0
    while i < len(s):
        j = i
        while j + 1 < len(s) and s[j + 1] == s[i]:
            j += 1
        ranks[order[i : j + 1]] = 0.5 * (i + j) + 1
        i = j + 1
    return (ranks[y_true].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


def inputs(size, rng):
    return (rng.random(size) < 0.4).astype(np.int32), np.round(rng.random(size), 2).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(10, 100, 1000),
    size_unit="examples",
    numpy=roc_auc,
    differentiable=(),
    source="Keras metrics: py_function around a function of scikit-learn or of one's own",
)
EDGES = {
    "empty": (np.zeros(0, np.int32), np.zeros(0, np.float32)),
    "one class": (np.ones(3, np.int32), np.float32([0.1, 0.2, 0.3])),
    "ties": (np.array([0, 1, 0, 1], np.int32), np.full(4, 0.5, np.float32)),
}
