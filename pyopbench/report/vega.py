"""Vega, Vega-Lite and Vega-Embed as one script for the page.

vl-convert takes seconds to make it, and makes the same again as long as it is the same release: so the script is kept
in the cache folder of the user, with its digest, and made again where it is not there or not whole. A report does not
depend on the cache: where there can be none, the script is made each time.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from pyopbench.model.cache_folder import private_tree
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically
from pyopbench.store.open_file import CACHED, read_bytes

PACKAGE = "vl-convert-python"
EXPORTS = "window.vegaEmbed = vegaEmbed;"


@cache
def library() -> str:
    """Return the script, which leaves nothing but `vegaEmbed` behind."""
    return f"(() => {{\n{_bundle()}\n}})();"


def _bundle() -> str:
    try:
        folder = private_tree("vega", "the charts of reports")
    except BadInput:
        return _made()
    made_of = f"{version(PACKAGE)}\n{EXPORTS}"
    path = folder / f"{_digest(made_of.encode())[:32]}.js"
    return _kept(path) or _keep(path, _made())


def _made() -> str:
    return str(vl_convert.javascript_bundle(EXPORTS))


def _kept(path: Path) -> str | None:
    """Return what is kept, or None where that is nothing or not whole."""
    try:
        digest, _, content = read_bytes(path, CACHED).partition(b"\n")
    except (OSError, BadInput):
        return None
    return content.decode() if digest.decode(errors="replace") == _digest(content) else None


def _keep(path: Path, bundle: str) -> str:
    content = bundle.encode()
    with suppress(OSError):  # the disk is full, for example: the report has its script all the same
        write_atomically(path, _digest(content).encode() + b"\n" + content)
    return bundle


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
