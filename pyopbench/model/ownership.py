"""Whose a folder is: what somebody else made is read, and not written into unless that was asked for.

A folder of another user may be a trap, and what is written into it is theirs to change from then on. git asks the same
question before it takes settings from a folder (`safe.directory`).
"""

from __future__ import annotations

import os
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.read_policy import policy

SUDO_USER = "SUDO_UID"
"""Holds, under sudo, the user who asked; their folders are not somebody else's."""


def require_own(folder: Path) -> None:
    """Check that a folder, if it is there, is one's own.

    Raises:
        BadInput: it is another user's, and nothing says that it may be written into; or no folder can have its name.
    """
    try:
        owner = os.stat(folder).st_uid
    except (FileNotFoundError, NotADirectoryError):
        return
    except ValueError as error:
        raise BadInput(
            "no folder can have this name",
            received=repr(str(folder)),
            hint="a path without null characters, in characters that the file system can store; choose another folder",
        ) from error
    if policy().trusts_everybody or owner in _own_ids():
        return
    raise BadInput(
        "the folder belongs to another user, so pyopbench does not write into it",
        received=f"{folder}, of user {owner}; you are {os.geteuid()}",
        hint="use --out, copy the folder, or use --trust-folder to write into it anyway",
    )


def _own_ids() -> set[int]:
    asked = os.environ.get(SUDO_USER, "")
    return {os.geteuid(), *([int(asked)] if os.geteuid() == 0 and asked.isascii() and asked.isdigit() else [])}
