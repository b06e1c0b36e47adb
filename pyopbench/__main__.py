"""`pyopbench` and `python -m pyopbench`: the command line, which Ctrl-C ends quietly while it is imported, too."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyopbench.model.errors import EXIT_INTERRUPTED


def main() -> None:
    """Run the command line and end the process."""
    # Where SIGINT is ignored, as by what a shell starts in the background, it stays so.
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listens:
        signal.signal(signal.SIGINT, _leave)
    from pyopbench.cli.app import main as command_line

    if listens:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for ending in (signal.SIGTERM, signal.SIGHUP):  # as after Ctrl-C, no worktree and no folder stays behind
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    try:
        command_line()
    except KeyboardInterrupt:  # before the command line has found out what is asked for
        sys.exit(EXIT_INTERRUPTED)


def _leave(*_: Any) -> None:
    """End at once: an exception inside of an import would be printed with its traceback, or become another."""
    os._exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
