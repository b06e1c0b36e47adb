"""The versions of Python and TensorFlow that the pages name are those that pyopbench supports."""

from __future__ import annotations

import re

from places import ROOT
from pyopbench.engine import environments

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHONS = re.findall(r"Programming Language :: Python :: (3\.\d+)", PYPROJECT)

PART = re.compile(r"## Which versions there are(.*?)Any other version", re.DOTALL)
VERSION = re.compile(r"\d+\.\d+\.\d+|up to 3\.\d+")
UP_TO = "up to "


def test_readme_and_start_name_the_supported_pythons() -> None:
    assert f'requires-python = ">={PYTHONS[0]}"' in PYPROJECT
    for page in ("README.md", "docs/start.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        named = re.search(rf"{re.escape(PYTHONS[0])} to {re.escape(PYTHONS[-1])}", text)
        assert named is not None, page


def test_the_page_names_each_tensorflow_with_its_newest_python() -> None:
    newest = by_newest_python((ROOT / "docs" / "tensorflow-versions.md").read_text(encoding="utf-8"))
    assert [version for versions in newest.values() for version in versions] == list(environments.locked())
    for python, versions in newest.items():
        major, minor = map(int, python.split("."))
        assert set(versions) <= set(environments.available((major, minor)))
        assert not set(versions) & set(environments.available((major, minor + 1)))


def test_the_page_about_gpus_names_the_oldest_and_the_newest_tensorflow() -> None:
    oldest, *_, newest = (".".join(version.split(".")[:2]) for version in environments.locked())
    assert f"{oldest} to {newest}" in (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")


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
