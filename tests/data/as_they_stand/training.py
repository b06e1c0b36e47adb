"""Five callbacks as a training script has them: NumPy alone, with constants and helpers of the same file."""

import numpy as np

SMOOTH = 1.0
ANCHOR_SIZE = 16
HOP, WINDOW, MELS, RATE = 80, 160, 12, 8000


def dice(y_true, y_pred):
    """Soft Dice loss over classes."""
    axes = tuple(range(1, y_pred.ndim - 1))
    overlap = 2 * (y_true * y_pred).sum(axis=axes)
    total = (y_true**2).sum(axis=axes) + (y_pred**2).sum(axis=axes)
    return np.float32(1 - ((overlap + SMOOTH) / (total + SMOOTH)).mean())


def focal(y_true, logits, alpha=0.25, gamma=2.0):
    """Focal loss of logits."""
    p = 1 / (1 + np.exp(-logits))
    pt = np.where(y_true == 1, p, 1 - p)
    weight = np.where(y_true == 1, alpha, 1 - alpha)
    return (-weight * (1 - pt) ** gamma * np.log(np.clip(pt, 1e-7, 1))).sum() / max(len(y_true), 1)


def iou(boxes, others):
    """Intersection over union of each box with each other one."""
    result = np.zeros((len(boxes), len(others)), dtype=np.float32)
    for j, other in enumerate(others):
        width = np.minimum(boxes[:, 2], other[2]) - np.maximum(boxes[:, 0], other[0])
        height = np.minimum(boxes[:, 3], other[3]) - np.maximum(boxes[:, 1], other[1])
        shared = width.clip(min=0) * height.clip(min=0)
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        result[:, j] = shared / (areas + (other[2] - other[0]) * (other[3] - other[1]) - shared)
    return result


def make_anchors(height, width):
    ys, xs = np.mgrid[0:height, 0:width] * ANCHOR_SIZE
    return np.stack([xs, ys, xs + ANCHOR_SIZE, ys + ANCHOR_SIZE], axis=-1).reshape(-1, 4).astype(np.float32)


def proposals(scores, deltas, top=20):
    """The best boxes of a grid of anchors, shifted, scaled and cut at the image; without suppression."""
    height, width = scores.shape
    anchors = make_anchors(height, width)
    sizes = anchors[:, 2:] - anchors[:, :2]
    centers = anchors[:, :2] + 0.5 * sizes
    deltas = deltas.reshape(-1, 4)
    centers = centers + deltas[:, :2] * sizes
    sizes = sizes * np.exp(deltas[:, 2:])
    boxes = np.concatenate([centers - 0.5 * sizes, centers + 0.5 * sizes], axis=1)
    boxes[:, 0::2] = np.clip(boxes[:, 0::2], 0, width * ANCHOR_SIZE - 1)
    boxes[:, 1::2] = np.clip(boxes[:, 1::2], 0, height * ANCHOR_SIZE - 1)
    order = scores.ravel().argsort()[::-1][:top]
    boxes, scores = boxes[order], scores.ravel()[order]
    keep = np.where((boxes[:, 2] - boxes[:, 0] >= 4) & (boxes[:, 3] - boxes[:, 1] >= 4))[0]
    return boxes[keep], scores[keep]


def mel_filters():
    hz = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + RATE / 2 / 700), MELS + 2) / 2595) - 1)
    bins = np.floor((WINDOW + 1) * hz / RATE).astype(int)
    filters = np.zeros((MELS, WINDOW // 2 + 1))
    for m in range(1, MELS + 1):
        for k in range(bins[m - 1], bins[m]):
            filters[m - 1, k] = (k - bins[m - 1]) / (bins[m] - bins[m - 1])
        for k in range(bins[m], bins[m + 1]):
            filters[m - 1, k] = (bins[m + 1] - k) / (bins[m + 1] - bins[m])
    return filters


def log_mel(wav):
    """Log mel spectrogram of a signal."""
    emphasised = np.append(wav[0], wav[1:] - 0.97 * wav[:-1])
    count = 1 + (len(emphasised) - WINDOW) // HOP
    frames = np.stack([emphasised[i * HOP : i * HOP + WINDOW] for i in range(count)]) * np.hamming(WINDOW)
    power = np.abs(np.fft.rfft(frames)) ** 2 / WINDOW
    return (20 * np.log10(np.maximum(power @ mel_filters().T, 1e-10))).astype(np.float32)
