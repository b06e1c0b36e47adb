"""Files that go to the hosts of a fleet: those that the user names for it, by the hash of what is in them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from pyopbench.engine.fleet.messages import MOST_SENT_BYTES, SENT_NAME, SentFile
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import is_target, split_input


def read_sent(paths: Sequence[str]) -> list[SentFile]:
    """Return the files that the user sends.

    Raises:
        BadInput: one cannot be read, has a name that is none, or all are too large.
    """
    files = [_read(text) for text in paths]
    total = sum(len(file.content) for file in files)
    if total > MOST_SENT_BYTES:
        raise BadInput(
            "the files to send are too large: they travel with every shard",
            received=f"{total:,} bytes",
            legal=f"up to {MOST_SENT_BYTES:,} bytes",
            hint="put large files on every host, and read them there by an absolute path",
        )
    return files


def _read(text: str) -> SentFile:
    path = Path(text)
    if not re.fullmatch(SENT_NAME, path.name):
        raise _unreadable(text, "a name of other than letters, digits, dots, dashes and underscores")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(text, str(error.strerror)) from error
    return SentFile(text=text, name=path.name, sha256=hashlib.sha256(content).hexdigest(), content=content)


def _unreadable(text: str, why: str) -> BadInput:
    return BadInput(
        "a file cannot be sent",
        received=f"--send {text}: {why}",
        legal="an op file or an input that `pyopbench run` takes, such as my_op.py or points.npy",
        hint="check the path",
    )


def check_sent(ops: Sequence[str], inputs: Sequence[str], files: Sequence[SentFile]) -> None:
    """Check that own ops that are in a file, and inputs that are one of this folder, are sent.

    Raises:
        BadInput: one is not: files go to other machines only with the user's word.
    """
    texts = [file.text for file in files]
    for op in ops:
        place = op if op.endswith(".py") else op.partition(":")[0]
        if is_target(op) and place.endswith(".py") and place not in texts:
            raise _unsent("op", op, place)
    for text in inputs:
        place = split_input(text)[1]
        if place.endswith(".npy") and not Path(place).is_absolute() and place not in texts:
            raise _unsent("input", text, place)


def _unsent(what: str, received: str, place: str) -> BadInput:
    return BadInput(
        f"the {what} is in a file, and files go to other machines only if you say so",
        received=received,
        legal="--send with each file that the hosts need",
        hint=f"--send {place}",
    )


def own_words(ops: Sequence[str], inputs: Sequence[str], seed_with: str) -> list[str]:
    """Return the words that name own ops and their inputs, which continuing a run needs again."""
    own = [op for op in ops if is_target(op)]
    given = [word for one in inputs for word in ("--input", one)]
    return [*own, *given, *(("--seed-with", seed_with) if seed_with else ())]
