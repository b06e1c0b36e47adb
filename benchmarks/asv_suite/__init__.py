"""The suite that asv collects; benchmarks/README.md says how to run it."""

import os
import sys
from importlib import import_module

# Before TensorFlow is imported anywhere: its log would fill asv's page of each benchmark.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

FORK_SERVER = "run_server"
"""The word of asv's command line for the process that it forks one of for each benchmark (asv_runner/server.py)."""

# Imported once there, TensorFlow need not be imported by each: that takes longer than most benchmarks. What looks for
# devices or starts TensorFlow's threads is left to them, as it does not survive a fork.
if FORK_SERVER in sys.argv[1:2]:
    import_module("pyopbench.worker.suite_api")
