"""Pitch of each frame: the lag at which its autocorrelation is largest."""

import numpy as np

from pyopbench import OwnOp

MIN_LAG = 8


def autocorr(x):
    result = np.correlate(x, x, mode="full")
    return result[result.size // 2 :]


def pitch_lags(frames):
    lags = []
    for x in frames:
        r = autocorr(x - np.mean(x))
        lags.append(MIN_LAG + np.argmax(r[MIN_LAG:]))
    return np.array(lags, dtype=np.int64)


def inputs(size, rng):
    period = rng.uniform(10, 30, (size, 1))
    wave = np.sin(2 * np.pi * np.arange(96)[None, :] / period)
    return ((wave + rng.normal(0, 0.1, wave.shape)).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 256),
    size_unit="frames",
    numpy=pitch_lags,
    differentiable=(),
    source="vocoders and singing synthesis, features beside the spectrogram",
)
EDGES = {
    "empty": (np.zeros((0, 96), np.float32),),
    "silence": (np.zeros((2, 96), np.float32),),
}
