"""What becomes of one callback: its forms, and the files that `pyopbench port` writes of it.

The process that `benchmarks/outside/callbacks.py` starts for each; it writes lines as `benchmarks/bodies/examine.py`
does.

    python benchmarks/outside/examine_callback.py FOLDER/01_name.py --lines FILE
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bodies import examine
from bodies.line_file import line_file
from outside.judging import judge_file, load
from pyopbench.model.failures import LONGEST_REASON, describe_error
from pyopbench.model.portable import PORTABLE

FILES = ("traced", "numba_op")


def main(arguments: Sequence[str]) -> int:
    """Examine a callback and write its lines; returns the exit code."""
    np.seterr(all="ignore")
    with line_file(arguments, __doc__) as (options, write):
        sys.path.append(str(options.path.resolve().parent))
        for line in examined(options.path, options.without):
            write(line)
    return 0


def examined(path: Path, without: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the facts of a callback, and for each form and file of it its name and then what became of it."""
    try:
        op = load(path)
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        yield {
            "body": path.stem,
            "failed": f"no op: {describe_error(error)}".replace(f"{path.parent}/", "")[:LONGEST_REASON],
        }
        return
    for line in examine.examined(str(path), without=without, files=set(PORTABLE) - set(FILES)):
        # Of code of others nothing is kept but what became of it: no sentence of its author's, and no line.
        kept = {key: value for key, value in line.items() if key not in ("summary", "change")}
        yield {**kept, "is_on_tensors": op.is_on_tensors} if "body" in kept else kept
    if op.is_on_tensors:
        return
    for variant in FILES:
        name = f"{variant}_file"
        if name not in without:
            yield {"begun": name, "kind": "file"}
            with tempfile.TemporaryDirectory() as folder:
                yield {"form": name, "kind": "file", **judge_file(path, variant, Path(folder))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
