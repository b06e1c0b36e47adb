"""Masks over bands of time and frequency of a spectrogram, at places that are drawn outside."""

import numpy as np

from pyopbench import OwnOp


def spec_augment(mel, freq_masks, time_masks):
    mel = mel.copy()
    mean = mel.mean()
    for f0, f in freq_masks:
        mel[:, f0 : f0 + f] = mean
    for t0, t in time_masks:
        mel[t0 : t0 + t] = mean
    return mel


def inputs(size, rng):
    freq = np.stack([rng.integers(0, 30, 2), rng.integers(0, 10, 2)], axis=1)
    time = np.stack([rng.integers(0, size, 2), rng.integers(0, max(1, size // 5), 2)], axis=1)
    return rng.normal(0, 1, (size, 40)).astype(np.float32), freq, time


OP = OwnOp(
    inputs=inputs,
    sizes=(10, 100, 1000),
    size_unit="frames",
    numpy=spec_augment,
    source="speech recognition, in Dataset.map",
)
EDGES = {
    "no mask": (np.ones((4, 5), np.float32), np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64)),
    "all": (np.arange(20, dtype=np.float32).reshape(4, 5), np.array([[0, 9]]), np.array([[1, 1]])),
    "nan": (np.full((4, 5), np.nan, np.float32), np.array([[0, 1]]), np.array([[1, 1]])),
}
