"""Helpers of this folder: scales and filter banks."""

import numpy as np


def hz_to_mel(f):
    return 2595.0 * np.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def mel_filterbank(n_filters, n_fft, sample_rate):
    low, high = hz_to_mel(0), hz_to_mel(sample_rate / 2)
    points = mel_to_hz(np.linspace(low, high, n_filters + 2))
    bins = np.floor((n_fft + 1) * points / sample_rate).astype(int)
    fbank = np.zeros((n_filters, n_fft // 2 + 1))
    for m in range(1, n_filters + 1):
        left, center, right = bins[m - 1], bins[m], bins[m + 1]
        for k in range(left, center):
            fbank[m - 1, k] = (k - left) / (center - left)
        for k in range(center, right):
            fbank[m - 1, k] = (right - k) / (right - center)
    return fbank


def frame(signal, length, step):
    n = 1 + (len(signal) - length) // step
    index = np.arange(length)[None, :] + step * np.arange(n)[:, None]
    return signal[index]
