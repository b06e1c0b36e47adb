"""Overlapping frames of a signal, zeros behind its end, under a Hamming window."""

import numpy as np

from pyopbench import OwnOp

FRAME_LENGTH = 64
FRAME_STEP = 32


def framing(signal):
    signal_length = len(signal)
    num_frames = int(np.ceil(float(np.abs(signal_length - FRAME_LENGTH)) / FRAME_STEP)) + 1
    pad_length = (num_frames - 1) * FRAME_STEP + FRAME_LENGTH
    z = np.zeros(pad_length - signal_length)
    padded = np.append(signal, z)
    indices = (
        np.tile(np.arange(0, FRAME_LENGTH), (num_frames, 1))
        + np.tile(np.arange(0, num_frames * FRAME_STEP, FRAME_STEP), (FRAME_LENGTH, 1)).T
    )
    frames = padded[indices.astype(np.int32, copy=False)]
    frames *= np.hamming(FRAME_LENGTH)
    return frames.astype(np.float32)


def inputs(size, rng):
    return (rng.normal(0, 0.1, size).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(256, 4096, 65536),
    size_unit="samples",
    numpy=framing,
    source="speech tutorials and keyword spotting, ahead of an FFT",
)
EDGES = {
    "one frame": (np.ones(64, np.float32),),
    "not a multiple": (np.arange(100, dtype=np.float32),),
    "nan": (np.array([np.nan] * 3 + [1.0] * 97, np.float32),),
}
