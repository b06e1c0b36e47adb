"""What is said of a port that was written as source."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pyopbench.judge.writable_ports import WritablePort
from pyopbench.model import formatting

NOTES = {
    "fixed shapes": "Shapes must be known when it is traced; in a Dataset, use batches of a fixed size.",
    "64 bits": "Its integers have 64 bits: a product that needs more is wrong, without an error.",
    "callback": "It is still a callback, so neither XLA nor a SavedModel in another process can run it.",
    "every backend": "It uses keras.ops only. Run its test on your backend: KERAS_BACKEND=jax python ...",
    "skeleton": "Nothing is tested yet: write the loops in the C++, build it, and run the test.",
}
"""Sentences by the kind of what holds for a port."""

COMMANDS = {"build": "build its C++", "dataset": "call it in a pipeline"}
"""What a command is for, by its kind."""


class Written(Protocol):
    """What is said of: `run.port.PortFiles`."""

    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102 - as that of `PortFiles`, and those below

    @property
    def not_run(self) -> tuple[tuple[str, int], ...]: ...  # noqa: D102

    @property
    def is_formatted(self) -> bool: ...  # noqa: D102

    @property
    def not_built(self) -> str: ...  # noqa: D102


def notes_text(written: Written) -> tuple[str, ...]:
    """Return a sentence for each thing that a reviewer should know."""
    found = [NOTES[note] for note in written.notes]
    if written.not_built:
        found.append(f"Its C++ was not compiled here: {written.not_built}")
    if written.not_run:
        lines = formatting.listing([f"{Path(file).name}:{line}" for file, line in written.not_run])
        found.append(f"No example ran {lines}, which was copied as it is: check it, or add an input that runs it.")
    if not written.is_formatted:
        found.append("ruff is not installed, so the source is not formatted.")
    return tuple(found)


def commands_text(commands: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each command, by their kinds."""
    return tuple(f"{COMMANDS[kind]}: {command}" for kind, command in commands.items())


def command_text(port: WritablePort) -> str:
    """Return the command line that writes a port, as a shell takes it."""
    return shlex.join(port.words)


def how_to_write(port: WritablePort) -> str:
    """Return what to do to have an answer as source."""
    return how_to_write_one([port])


def how_to_write_one(ports: Sequence[WritablePort]) -> str:
    """Return what to do to have one of several ports of an op as source, at least one."""
    variants = formatting.listing([port.variant for port in ports], "or")
    return f"Write {ports[0].op} as {variants}, with a test: {command_text(ports[0])}"
