"""The page `docs/api.md` has every public name, and each has a docstring, without which the site leaves it out."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import pyopbench
from places import ROOT
from pyopbench.worker import suite_api

PAGE = ROOT / "docs" / "api.md"
BLOCK = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)

PUBLIC = {
    "pyopbench": [*pyopbench.__all__],
    "pyopbench.ports": ["traced"],
    "pyopbench.worker.suite_api": [],
}
"""Module -> the names that the page has to have; for an empty list those of its `__all__`.

Where the page asks for no members of a module, its docstring is what readers see: it names them between backticks.
"""


def blocks(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the module and name of each object that a page asks mkdocstrings for."""
    for path, options in BLOCK.findall(text):
        module = importlib.import_module(path)
        members = _members(options)
        yield from ((module, name) for name in public_names(module) if members is None)
        yield from ((module, name) for name in (members if isinstance(members, list) else ()))


def _members(options: str) -> list[str] | bool | None:
    members: list[str] | bool | None = (yaml.safe_load(options) or {}).get("options", {}).get("members")
    return members


def public_names(module: Any) -> list[str]:
    own = [name for name, one in vars(module).items() if getattr(one, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_")]


def problems(text: str, required: dict[str, list[str]]) -> list[str]:
    """Return what a page lacks: names that are not there, objects that it does not have, docstrings."""
    asked = list(blocks(text))
    found = [f"{module.__name__}.{name} does not exist" for module, name in asked if not hasattr(module, name)]
    described = {path for path, options in BLOCK.findall(text) if _members(options) is False}
    shown = [getattr(module, name) for module, name in asked if hasattr(module, name)]
    for path, names in required.items():
        module = importlib.import_module(path)
        for name in names or module.__all__:
            one = getattr(module, name)
            is_there = any(one is other for other in shown)
            is_there |= path in described and f"`{name}`" in (module.__doc__ or "")
            found += [] if is_there else [f"{path}.{name} is not on the page"]
    return found + [undocumented for one in shown for undocumented in without_docstring(one)]


def without_docstring(one: Any) -> Iterator[str]:
    """Yield the names of a class or function, and of a class' public methods and properties, that lack a docstring."""
    if not (inspect.isclass(one) or inspect.isfunction(one)):
        return
    if not inspect.getdoc(one):
        yield one.__qualname__
    fields = getattr(one, "__dataclass_fields__", {})  # described where the class is
    for name, member in vars(one).items() if inspect.isclass(one) else ():
        if name in fields:
            continue
        is_public = not name.startswith("_") and isinstance(member, property | classmethod | staticmethod)
        if (is_public or (inspect.isfunction(member) and not name.startswith("_"))) and not inspect.getdoc(member):
            yield f"{one.__qualname__}.{name}"


def test_the_reference_has_every_public_name_with_a_docstring() -> None:
    assert problems(PAGE.read_text(encoding="utf-8"), PUBLIC) == []


@pytest.mark.parametrize(
    ("before", "after", "number"),
    [
        ("      members: [read, compare]", "      members: [read]", 1),
        ("::: pyopbench.model.errors\n", "", 7),
        ("      members: [read, compare]", "      members: [read, compare, gone]", 1),
    ],
)
def test_what_is_missing_or_gone_is_found(before: str, after: str, number: int) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert before in text
    assert len(problems(text.replace(before, after), PUBLIC)) == number


def test_a_name_of_the_suites_that_is_nowhere_is_found() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("false", "[]")
    path = suite_api.__name__
    assert len(problems(text, {path: ["load_op", "Case"]})) == 1  # the page has `Case` elsewhere


def test_a_missing_docstring_is_found() -> None:
    class Noun:
        """A noun."""

        def method(self) -> None:
            pass

        @property
        def fact(self) -> int:
            return 1

    assert [name.rpartition(".")[2] for name in without_docstring(Noun)] == ["method", "fact"]
