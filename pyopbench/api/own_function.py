"""From a function and its example arguments to words of a command line: a file or module, and its inputs.

So an op from Python takes the same path as one named in a shell. Anything without a name there gets one in the folder
of the run: arrays as .npy files, and the source of a function of `__main__`.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path, write_atomically
from pyopbench.ports.extract.definitions import CannotExtract
from pyopbench.ports.extract.extraction import Extraction

Op: TypeAlias = Callable[..., Any] | str | Path
"""A function, or what names an op on the command line."""
Inputs: TypeAlias = Sequence[Any] | Mapping[str, Any] | npt.NDArray[Any] | None
"""Example arguments: those by position, or those by name."""

FOLDER = "op"
"""Of the run's folder: what is shipped with the op."""
LONGEST_VALUE = 10_000
"""Characters of an argument that is not an array; longer ones would not fit the command that resumes the run."""
WAY_OUT = "put the function and what it uses into a .py file, import it from there, and measure that"
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def op_in_words(op: Op, inputs: Inputs, folder: Path) -> tuple[str, list[str]]:
    """Return what names an op on the command line, and its inputs as `--input` takes them.

    What has to be shipped is written into a folder in that of the run.
    """
    words = _inputs_in_words(inputs, folder / FOLDER)
    if isinstance(op, (str, Path)):
        return str(op), words
    if not callable(op):
        raise BadInput(
            "not an op",
            received=f"{op!r}, of type {type(op).__name__}",
            legal="a function, or a text: a built-in name, my_op.py, my_module.py:function or package.module:function",
            hint="for example pyopbench.run(my_function, [example_of_each_argument])",
        )
    name, module = _name_of(op), home_of(op)
    if not module:
        source, defined_as = _source_of(op, len(words))
        return f"{_ship(source, folder / FOLDER, f'{defined_as}_', '.py')}:{defined_as}", words
    file = inspect.getsourcefile(op) if inspect.isfunction(op) else None
    place = file if file and Path(file).suffix == ".py" else module
    return f"{place}:{name}", words


def home_of(value: object) -> str:
    """Return the module in which other processes find a function or class under its name; "" if there is none."""
    for module in (str(getattr(value, "__module__", "")), "numpy"):  # ufuncs do not know theirs
        found = sys.modules.get(module)
        if found is not None and module != "__main__" and vars(found).get(_name_of(value)) is value:
            return module
    return ""


def _name_of(value: object) -> str:
    """Return the name that a function or class was defined under; "" for anything else."""
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))


def _source_of(op: Callable[..., Any], arguments: int) -> tuple[bytes, str]:
    """Return a module that holds a function and all that it uses, and its name there."""
    extraction = Extraction()
    try:
        extraction.add(op, arguments=arguments)
        (name,) = extraction.module().names
        source = extraction.module(f"{name}, as it was when it was measured.").text
    except CannotExtract as error:
        where = "" if error.place is None else f", {error.place[0]} line {error.place[1]}"
        raise BadInput(
            f"the function cannot be sent to another process: {error.why}",
            received=f"{_name_of(op) or repr(op)}{where}",
            hint=f"{error.fix}; or {WAY_OUT}" if error.fix else WAY_OUT,
        ) from error
    return source.encode(), name


def _inputs_in_words(inputs: Inputs, folder: Path) -> list[str]:
    if inputs is None:
        return []
    if isinstance(inputs, Mapping):
        return [f"{name}={_value_in_words(value, folder, name)}" for name, value in inputs.items()]
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Sequence):
        inputs = [inputs]  # the only argument
    return [_value_in_words(value, folder, f"argument {place + 1}") for place, value in enumerate(inputs)]


def _value_in_words(value: Any, folder: Path, name: str) -> str:
    """Return the path of an array's file, or the expression that makes a plain value."""
    if hasattr(value, "numpy"):  # an eager tensor
        value = value.numpy()
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        stream = io.BytesIO()
        np.save(stream, value, allow_pickle=False)
        return str(_ship(stream.getvalue(), folder, "", ".npy"))
    if _is_plain(value) and len(repr(value)) <= LONGEST_VALUE:
        return repr(value)
    shown = repr(value)
    raise BadInput(
        f"{name} cannot be stored as an example",
        received=f"{shown[:60]}{'...' if len(shown) > 60 else ''}, of type {type(value).__name__}",
        hint="convert it with np.asarray, or write an op file; docs/your-own-op.md has one",
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0  # nan and the infinities have no literal
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return type(value) in PLAIN


def _ship(content: bytes, folder: Path, stem: str, suffix: str) -> Path:
    """Write a file that is named by its content: what changed is another file, and the one that was measured stays."""
    path = folder / f"{stem}{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return real_path(path)
