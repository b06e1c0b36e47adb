"""Character n-grams of a word, each as a bucket of a hash."""

import numpy as np

from pyopbench import OwnOp

BUCKETS = 1000


def fnv(gram):
    h = 2166136261
    for byte in gram:
        h = ((h ^ byte) * 16777619) & 0xFFFFFFFF
    return h


def char_ngrams(word, min_n=3, max_n=4):
    word = b"<" + word.lower() + b">"
    found = []
    for n in range(min_n, max_n + 1):
        for i in range(len(word) - n + 1):
            found.append(fnv(word[i : i + n]) % BUCKETS)
    return np.array(found, dtype=np.int64)


def inputs(size, rng):
    return (np.array(bytes(rng.integers(97, 123, size, dtype=np.uint8)), dtype=object),)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 16, 64),
    size_unit="letters",
    numpy=char_ngrams,
    source="fastText features in Dataset.map",
)
EDGES = {
    "empty": (np.array(b"", object),),
    "one": (np.array(b"A", object),),
}
