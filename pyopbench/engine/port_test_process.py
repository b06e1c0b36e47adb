"""Runs the test of a port in a process of its own, in which pyopbench cannot be imported.

Its input is JSON: a folder, a module in it, and the file for the answer. The answer is JSON as well: the names of the
tests that passed, and of the first that failed with what it said.
"""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def run(folder: str, module: str) -> dict[str, Any]:
    """Run every function of a module whose name begins with `test_`, until one fails."""
    sys.path.insert(0, folder)
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
    # To import it is an error then.
    sys.modules["pyopbench"] = None  # type: ignore[assignment]
    del sys.path[0]  # the folder of this file
    with suppress(ImportError):
        importlib.import_module("tensorflow")  # before there is anything to do
    if asked := sys.stdin.read():
        folder, module, answer = json.loads(asked)
        Path(answer).write_text(json.dumps(run(folder, module)), encoding="utf-8")
