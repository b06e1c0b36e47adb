"""Runs tests of ports one after another where pyopbench cannot be imported: the process of `written_files.OwnTests`.

It reads lines `[FOLDER, MODULE]` and answers each with the line that `port_test_process.py` would write.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[2] / "pyopbench" / "engine" / "port_test_process.py"


def main() -> None:
    """Answer until there are no more lines."""
    spec = importlib.util.spec_from_file_location("port_test_process", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of tests is not an answer
    for line in sys.stdin:
        folder, module = json.loads(line)
        os.chdir(folder)
        before = set(sys.modules)
        importlib.invalidate_caches()
        found = runner.run(folder, module)
        for name in set(sys.modules) - before:  # the next file may have the same name
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        os.chdir("/")  # the folder is deleted
        answers.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
