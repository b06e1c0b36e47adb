"""Runs the test of a port in a process of its own, in which pyopbench cannot be imported.

    python port_test_process.py FOLDER MODULE ANSWER

The file ANSWER is JSON: the names of the tests that passed, and of the first that failed with what it said.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def run(folder: str, module: str) -> dict[str, Any]:
    """Run every function of a module whose name begins with `test_`, until one fails."""
    # To import it is an error then.
    sys.modules["pyopbench"] = None  # type: ignore[assignment]
    sys.path[0] = folder  # in place of the folder of this file
    passed: list[str] = []
    name = module
    try:
        tests = importlib.import_module(module)
        for name, test in list(vars(tests).items()):  # a warning adds `__warningregistry__`
            if name.startswith("test_"):
                test()
                passed.append(name)
    except BaseException as error:  # noqa: BLE001 - whatever a body raises is the answer
        return {"passed": passed, "failed": name, "error": f"{type(error).__name__}: {error}"}
    return {"passed": passed}


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps(run(sys.argv[1], sys.argv[2])), encoding="utf-8")
