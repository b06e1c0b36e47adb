"""Errors that tests expect, by the whole of what they say is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyopbench.model.errors import BadInput, PyopbenchError


@contextmanager
def refused(what: str, error: type[PyopbenchError] = BadInput) -> Iterator[None]:
    """Expect an error that says this is wrong, and what to do next."""
    with pytest.raises(error) as caught:
        yield
    assert caught.value.message == what
    assert caught.value.hint
