"""Words of a line as buckets of a hash, with signs, summed into a vector: the hashing trick."""

import zlib

import numpy as np

from pyopbench import OwnOp

DIM = 64


def hashing_vectorizer(lines):
    out = np.zeros((len(lines), DIM), dtype=np.float32)
    for row, line in enumerate(lines):
        for token in line.decode("utf-8").lower().split():
            h = zlib.crc32(token.encode("utf-8"))
            out[row, h % DIM] += 1.0 if (h >> 16) & 1 else -1.0
        norm = np.linalg.norm(out[row])
        if norm > 0:
            out[row] /= norm
    return out


def inputs(size, rng):
    words = np.array(["the", "Cat", "sat", "on", "a", "mat", "größer", "42"])
    return (np.array([" ".join(rng.choice(words, 6)).encode() for _ in range(size)], dtype=object),)


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 16, 128),
    size_unit="lines",
    numpy=hashing_vectorizer,
    source="text classifiers that were ported from scikit-learn",
)
EDGES = {
    "empty": (np.array([b"", b"one"], object),),
    "spaces": (np.array([b"  a   a ", b"\ta"], object),),
}
