"""How a process that examines code of others is called, and the file of JSON lines that it writes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf


@contextmanager
def line_file(
    arguments: Sequence[str], description: str | None, path: str | None = None
) -> Iterator[tuple[argparse.Namespace, Callable[[dict[str, Any]], None]]]:
    """Read a command line, quieten TensorFlow, and open the file.

    Args:
        arguments: of the command line, as `benchmarks/corpus.py` gives them.
        description: of the command, for its help.
        path: what the command is called with, for its help.

    Yields:
        The options: `path`, `without` (names of forms that are done), `time` and `peer`; and a function that
        writes a line, which is in the file when it returns.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help=path)
    parser.add_argument("--lines", type=Path, required=True)
    parser.add_argument("--without", type=lambda names: names.split(","), default=[])
    parser.add_argument("--time", action="store_true", help="say how fast right forms are, too")
    parser.add_argument("--peer", default="", help="try another library in place of ports, if the command has one")
    options = parser.parse_args(arguments)
    tf.get_logger().setLevel("ERROR")
    with options.lines.open("a", encoding="utf-8", buffering=1) as lines:

        def write(line: dict[str, Any]) -> None:
            lines.write(json.dumps(line, allow_nan=False) + "\n")

        yield options, write
