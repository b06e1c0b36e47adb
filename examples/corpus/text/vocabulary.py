"""Words of a line as ids, unknown ones as 1, the end as 2, to a fixed length."""

import re

import numpy as np

from pyopbench import OwnOp

VOCAB = {word: i + 3 for i, word in enumerate("the cat sat on a mat and did not move".split())}
LENGTH = 10


def encode_line(line):
    text = line.decode()
    text = re.sub(r"[^a-z ]+", " ", text.lower())
    ids = [VOCAB.get(w, 1) for w in text.split()][: LENGTH - 1] + [2]
    return np.array(ids + [0] * (LENGTH - len(ids)), dtype=np.int64)


def inputs(size, rng):
    words = np.array([*VOCAB, "Dog!", "x-ray", "42"])
    return (np.array(" ".join(rng.choice(words, size)).encode(), dtype=object),)


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 8, 64),
    size_unit="words",
    numpy=encode_line,
    source="translation tutorials: a tokenizer inside py_function",
)
EDGES = {
    "empty": (np.array(b"", object),),
    "unknown": (np.array("ÄÖ 1 2 3".encode(), object),),
}
