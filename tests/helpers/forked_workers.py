"""The command line with workers that are forked, as a program; the variable names the client that asks for a fork."""

import os
import sys

from pyopbench.cli import app
from pyopbench.engine import worker_process

VARIABLE = "FORKED_WORKER"

if __name__ == "__main__":
    worker_process.COMMAND = (sys.executable, "-IS", os.environ[VARIABLE])
    app.main()
