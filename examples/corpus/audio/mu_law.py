"""Mu-law companding of samples to 256 classes."""

import numpy as np

from pyopbench import OwnOp


def mu_law_encode(audio, quantization_channels=256):
    mu = float(quantization_channels - 1)
    audio = audio.astype(np.float64)
    safe = np.minimum(np.abs(audio), 1.0)
    magnitude = np.log1p(mu * safe) / np.log1p(mu)
    signal = np.sign(audio) * magnitude
    return ((signal + 1) / 2 * mu + 0.5).astype(np.int32)


def inputs(size, rng):
    return (rng.uniform(-1.2, 1.2, size).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(100, 10_000, 1_000_000),
    size_unit="samples",
    numpy=mu_law_encode,
    differentiable=(),
    source="WaveNet and its successors",
)
EDGES = {
    "empty": (np.zeros(0, np.float32),),
    "one": (np.float32([0.25]),),
    "ends": (np.float32([-1, 0, 1, 7]),),
}
