"""Log mel spectrogram of a signal."""

import numpy as np
from audio_utils import frame, mel_filterbank

from pyopbench import OwnOp

N_FFT = 128
HOP = 64
N_MELS = 20
RATE = 8000


def log_mel(wav):
    frames = frame(wav, N_FFT, HOP) * np.hanning(N_FFT)
    spectrum = np.abs(np.fft.rfft(frames, n=N_FFT, axis=-1)) ** 2 / N_FFT
    mel = np.dot(spectrum, mel_filterbank(N_MELS, N_FFT, RATE).T)
    mel = np.where(mel == 0, np.finfo(float).eps, mel)
    return (10.0 * np.log10(mel)).astype(np.float32)


def inputs(size, rng):
    return (rng.normal(0, 0.1, size).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(256, 4096, 32768),
    size_unit="samples",
    numpy=log_mel,
    tolerance=1e-4,
    source="speech recognition and sound classification, the features made in Dataset.map",
)
EDGES = {
    "one frame": (np.sin(np.arange(128, dtype=np.float32)),),
    "silence": (np.zeros(256, np.float32),),
}
