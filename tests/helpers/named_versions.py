"""The versions that a page names."""

from __future__ import annotations

import re

PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")
PART = re.compile(r"## Which versions there are(.*?)Any other version", re.DOTALL)
VERSION = re.compile(r"\d+\.\d+\.\d+|up to 3\.\d+")
UP_TO = "up to "


def pythons(pyproject: str) -> list[str]:
    """Return the versions of Python that a pyproject.toml has as classifiers, in their order."""
    return PYTHON.findall(pyproject)


def by_newest_python(page: str) -> dict[str, list[str]]:
    """Return the versions of TensorFlow that docs/tensorflow-versions.md lists, by their newest Python."""
    (part,) = PART.findall(page)
    found: dict[str, list[str]] = {}
    waiting: list[str] = []
    for word in VERSION.findall(" ".join(part.split())):
        if word.startswith(UP_TO):
            found[word.removeprefix(UP_TO)], waiting = waiting, []
        else:
            waiting.append(word)
    return {**found, **({"": waiting} if waiting else {})}
