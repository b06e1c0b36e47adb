"""The suite that asv collects; docs/history.md says how to run it."""

import os

# Before TensorFlow is imported anywhere: its log would fill asv's page of each benchmark.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
