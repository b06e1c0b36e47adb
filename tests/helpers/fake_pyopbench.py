"""The command line with workers that measure nothing, as a program: `python fake_pyopbench.py run ...`."""

from places import FAKE_WORKER_COMMAND
from pyopbench.cli import app
from pyopbench.engine import worker_process

if __name__ == "__main__":
    worker_process.COMMAND = FAKE_WORKER_COMMAND
    app.main()
