"""pyopbench: should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?"""

__version__ = "0.1.0"
