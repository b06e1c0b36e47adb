"""Ports and arrangements as files: each is measured as the module that `pyopbench port` writes, imported.

Each is written once in a run, by the process that needs it first. Other processes of the run are given its text, so
that all launches time the same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyopbench.model.arrangement import read_key
from pyopbench.model.case import Case
from pyopbench.model.files import load_file
from pyopbench.model.op import SEED, Body, Op
from pyopbench.model.syntax import read_source
from pyopbench.model.variant import BATCHED
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting.arrangements import write_arrangement
from pyopbench.ports.porting.body_code import lines_of_body
from pyopbench.ports.porting.module_text import keep_text
from pyopbench.ports.porting.port import extracted_op, write_port
from pyopbench.ports.porting.writers import PortModule
from pyopbench.ports.rebinding import arrange, unwrap


@dataclass(frozen=True)
class PortFile:
    """A port that was written."""

    op: str
    variant: str  # or the key of an arrangement, such as `processes batch=32`
    dtype: str  # of the cases that it is for
    text: str  # of its module
    function: str  # the name of the function of tensors in it
    not_run: tuple[tuple[str, int], ...] = ()  # file and line of the user's code that no example went through
    notes: tuple[str, ...] = ()  # kinds of notes, as in a `PortLine`


class PortFiles:
    """The ports of this process, each written and imported once."""

    def __init__(self) -> None:
        """Know of none."""
        self._given: dict[tuple[str, str, str], PortFile] = {}
        # Each entry holds its op: Python could give the id of a deleted op, which is in the key, to another one.
        self._written: dict[tuple[int, str, str], tuple[Op, PortModule | CannotPort]] = {}
        self._files: dict[tuple[int, str, str], PortFile] = {}
        self._imported: dict[PortFile, Body] = {}
        self._news: list[PortFile] = []
        self._paths: dict[str, tuple[str, Op, str]] = {}

    def give(self, files: Iterable[PortFile]) -> None:
        """Take these for the ports of own ops, in place of writing them."""
        for one in files:
            hashable = replace(one, notes=tuple(one.notes), not_run=tuple((str(f), int(n)) for f, n in one.not_run))
            self._given[one.op, one.variant, one.dtype] = hashable

    def news(self) -> list[PortFile]:
        """Return what was written since this was last asked for."""
        news, self._news = self._news, []
        return news

    def file_of(self, op: Op, variant: str, dtype: str, callback: str = "") -> PortFile:
        """Return a port, written if it is not yet.

        Args:
            op: whose NumPy body is ported.
            variant: one of `model.variant.PORTABLE` or of `BATCHED`, or the key of an arrangement.
            dtype: of the inputs on which the body is observed.
            callback: the variant of the current callback, for an arrangement.

        Raises:
            CannotPort: it cannot be written as source.
        """
        if op.is_own and (op.name, variant, dtype) in self._given:
            return self._given[op.name, variant, dtype]
        key, port = (id(op), variant, dtype), self.module_of(op, variant, dtype, callback)
        if key not in self._files:
            self._files[key] = PortFile(op.name, variant, dtype, port.text, port.function, port.not_run, port.notes)
            self._news.append(self._files[key])
        return self._files[key]

    def module_of(self, op: Op, variant: str, dtype: str, callback: str = "") -> PortModule:
        """Return the module that pyopbench writes, even if `give` took a file; arguments and errors as in `file_of`."""
        key, of_dtype = (id(op), variant, dtype), replace(op, dtypes=(dtype,))
        if key not in self._written:
            try:
                is_port = read_key(variant) is None
                port = write_port(of_dtype, variant) if is_port else write_arrangement(of_dtype, variant, callback)
                self._written[key] = op, port
            except CannotPort as refusal:
                self._written[key] = op, refusal
        _, found = self._written[key]
        if isinstance(found, CannotPort):
            raise found
        return found

    def call_of(self, op: Op, variant: str, dtype: str, callback: str = "") -> Body:
        """Return the function in the module of a port: it takes tensors, or a dataset for an arrangement."""
        file = self.file_of(op, variant, dtype, callback)
        if file not in self._imported:
            path = keep_text(_file_name(file), file.text)
            self._paths[str(path)] = file.text, op, variant
            self._imported[file] = getattr(load_file(path, f"port_{path.parent.name}_{path.stem}"), file.function)
        return self._imported[file]

    def path_of(self, op: Op, variant: str) -> Path | None:
        """Return the file of a port in the first dtype of an op, or None if it was not imported."""
        key = (op.name, variant, op.dtypes[0])
        files = [file for file in self._imported if (file.op, file.variant, file.dtype) == key]
        return keep_text(_file_name(files[-1]), files[-1].text) if files else None

    def places(self) -> dict[tuple[str, int], tuple[str, int]]:
        """Return file and line of the user's by file and line of the ports that were imported."""
        return {
            (path, line): place
            for path, (text, op, variant) in self._paths.items()
            for line, place in lines_of_user(text, op, variant).items()
        }


def _file_name(file: PortFile) -> str:
    return re.sub(r"\W", "_", f"{file.op}_{file.variant}")


PORTS = PortFiles()
"""Those of this process."""


def lines_of_user(text: str, op: Op, variant: str) -> dict[int, tuple[str, int]]:
    """Return file and line of the user's by line of a port that was written from it, as `lines_of_body` has them."""
    yours, _ = extracted_op(op, variant)
    source = read_source(unwrap(yours.numpy).__code__.co_filename)
    places = {line: place_of_user((source.path, other)) for line, other in lines_of_body(text, source).items()}
    return {line: place for line, place in places.items() if place is not None}


def port_call(op: Op, name: str, dtype: str) -> Body:
    """Return a port or a batched form (`name`) as its file has it, called with the inputs by position."""
    call = PORTS.call_of(op, name, dtype)
    if op.own is not None and op.own.is_random:
        call = partial(call, seed=SEED)
    return call if BATCHED.get(name) == "map" else arrange(op.numpy, call)


def build_port(op: Op, case: Case) -> Body:
    """Return the port of a case's variant, as its file has it."""
    return port_call(op, case.variant, case.dtype)
