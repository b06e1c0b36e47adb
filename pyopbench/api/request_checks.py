"""What is checked of the arguments of `pyopbench.run` before anything is done."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.api.own_function import Op
from pyopbench.api.shipped_source import home_of
from pyopbench.model.errors import BadInput


def require_launches(launches: int | None) -> None:
    """Check that there are enough launches for an interval.

    Raises:
        BadInput: there is one, or none.
    """
    if launches is not None and launches < 2:
        raise BadInput(
            "one launch gives no interval",
            received=f"launches={launches!r}",
            legal="2 or more",
            hint="for example launches=8",
        )


def require_list(option: str, given: Sequence[str]) -> None:
    """Check that names are a list of them, and not one text.

    Raises:
        BadInput: they are a text.
    """
    if isinstance(given, str):
        raise BadInput(
            f"{option} is a list, because there are several to compare",
            received=f"{option}={given!r}",
            legal="a list of texts",
            hint=f"{option}=[{given!r}, ...]",
        )


def require_revisable(op: Op, rev: Sequence[str]) -> None:
    """Check that an op is a file of a repository, if revisions of it are asked for.

    Raises:
        BadInput: it is a function that stands in no module.
    """
    if rev and callable(op) and not home_of(op):
        raise BadInput(
            "a function of a notebook or a script has no revisions",
            received=f"{getattr(op, '__name__', op)} with rev={list(rev)!r}",
            legal="an op whose file is in a git repository",
            hint='put it into a file of the repository, commit it, and name it: "my_module.py:function"',
        )
