"""Pillow's equalisation of an image. It takes no array, so the conversions around it are part of the body."""

import numpy as np
from PIL import Image, ImageOps

from pyopbench import OwnOp


def equalize(image):
    """Return a `(height, width, 3) uint8` image with an even histogram in each channel."""
    return np.asarray(ImageOps.equalize(Image.fromarray(image)))


OP = OwnOp(inputs=(np.random.default_rng(0).integers(0, 200, (480, 640, 3), dtype=np.uint8),), numpy=equalize)
