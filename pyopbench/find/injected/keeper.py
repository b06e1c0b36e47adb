"""Keeps what a port of a callback needs: some of its real inputs and outputs, its source, and how it is called.

Standard library only, like `recorder.py`. A function of pyopbench extracts the source; its folder is passed in, and
without it a program is recorded without sources.
"""

from __future__ import annotations

import ast
import importlib
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from pyopbench.find.injected.tallies import GENERATED, Site

MOST_SHAPES, MOST_OF_A_SHAPE = 8, 4
"""Limits on the calls that are kept for a site: some for each of the first shapes, spread over powers of two."""

EXTRACTOR = "pyopbench.ports.extract.extraction"


class Held:
    """What is kept of a site.

    Attributes:
        examples: inputs and outputs of calls.
        seen: number of calls by shapes.
        first, last: of the functions that were called; `codes` are theirs, and `source` is that of the first.
        refused: why no calls are kept.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.examples: list[tuple[list[Any], list[Any]]] = []
        self.seen: dict[Any, int] = {}
        self.codes: set[Any] = set()
        self.first: Any = None
        self.last: Any = None
        self.source: dict[str, Any] = {}
        self.call: dict[str, Any] = {}
        self.refused = ""


class Keeper:
    """What this process keeps about its callbacks.

    Args:
        limit_bytes: of all inputs and outputs.
        package: the folder that pyopbench is in.
    """

    def __init__(self, limit_bytes: int, package: str) -> None:
        self.limit_bytes, self.package = limit_bytes, package
        self.script: str | None = None
        self.renew()

    def renew(self) -> None:
        """Keep nothing yet, as in a process that was forked."""
        self.held: dict[Any, Held] = {}
        self.bytes = 0
        self.lock = threading.RLock()

    def called_with(self, site: Site, function: Any, call: dict[str, Any]) -> None:
        """Record a function that a site calls back, and how."""
        self.script = self.script or getattr(sys.modules.get("__main__"), "__file__", None)
        with self.lock:
            held = self.held.setdefault(site.key, Held(site))
            is_converted = held.call.get("is_converted", True) and call.get("is_converted", False)
            held.call = (held.call or call) | {"is_converted": is_converted}
            held.codes.add(getattr(function, "__code__", None) or type(function))
            held.last = function
            if held.first is None:
                held.first = function

    def inputs_of(self, site: Site, arguments: Sequence[Any]) -> list[Any] | None:
        """Return copies of the inputs if the call should be kept, else None."""
        held = self.held.get(site.key)
        if held is None or held.refused:
            return None
        try:
            arrays = [_array(one) for one in arguments]
        except Exception as error:  # noqa: BLE001 - whatever an argument is, the program goes on
            held.refused = f"an input cannot be stored: {error!r}"
            return None
        key = tuple((one.shape, one.dtype.str) for one in arrays)
        with self.lock:
            if held.source == {}:
                held.source = self._source(held, held.first, len(arguments))
            seen = held.seen[key] = held.seen.get(key, 0) + 1
            is_wanted = seen & (seen - 1) == 0 and seen < 2**MOST_OF_A_SHAPE and len(held.seen) <= MOST_SHAPES
            size = sum(one.nbytes for one in arrays)
            if not is_wanted or self.bytes + 2 * size > self.limit_bytes:
                return None
            self.bytes += size
        return [one.copy() for one in arrays]

    def keep(self, site: Site, inputs: list[Any], outputs: Any) -> None:
        """Keep the inputs of a call with its outputs."""
        held = self.held[site.key]
        try:
            listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            arrays = [_array(one).copy() for one in listed if one is not None]
        except Exception as error:  # noqa: BLE001 - as above
            held.refused = f"an output cannot be stored: {error!r}"
            return
        with self.lock:
            self.bytes += sum(one.nbytes for one in arrays)
            held.examples.append((inputs, arrays))

    def save(self, folder: Path) -> None:
        """Write everything into a folder, atomically."""
        scratch = folder.with_suffix(".scratch")
        scratch.mkdir(parents=True, exist_ok=True)
        with self.lock:
            sites = [
                self._save_site(held, f"{scratch / str(number)}-") for number, held in enumerate(self.held.values())
            ]
        (scratch / "kept.json").write_text(json.dumps(sites), encoding="utf-8")
        scratch.replace(folder)

    def _save_site(self, held: Held, prefix: str) -> dict[str, Any]:
        """Save the arrays of a site in files that begin with a prefix, and return everything else as plain data."""
        examples = [
            {
                side: [_save_array(array, f"{prefix}{place}-{side}{at}.npy") for at, array in enumerate(arrays)]
                for side, arrays in zip(("inputs", "outputs"), pair, strict=True)
            }
            for place, pair in enumerate(held.examples)
        ]
        return {
            "key": list(held.site.key),
            "examples": examples,
            "source": held.source,
            "changed_values": self._changed_values(held),
            "bodies": len(held.codes),
            "call": held.call,
            "refused": held.refused,
        }

    def _changed_values(self, held: Held) -> list[str]:
        """Return what the function reads that has changed since, as the code spells it; an empty text if unknown."""
        if "text" not in held.source or not held.examples:
            return []
        if self.script is not None:  # Python deletes it when a script has come to its end
            vars(sys.modules["__main__"]).setdefault("__file__", self.script)
        again = self._source(held, held.last, len(held.examples[0][0]))
        if "text" not in again or again["text"] == held.source["text"]:
            return []
        before, after = (_constants(one["text"]) for one in (held.source, again))
        names = [name for name, value in before.items() if after.get(name) != value]
        return [held.source["spellings"].get(name, name) for name in names] or [""]

    def _source(self, held: Held, function: Any, arguments: int) -> dict[str, Any]:
        """Return the source of a function with all it needs (`text`, `name`), or why it has none (`refused`).

        `places` has the user's file and line for each line of the text, or None; `spellings` are as of `Extracted`.
        """
        try:
            with _unchanged_random_numbers(), _on_path(self.package):
                extract = importlib.import_module(EXTRACTOR)
                body = as_written(function, held.site.key[1])
                found, _, _ = extract.extract(lambda one: one.add(body, arguments=arguments))
                spellings = dict(found.spellings)
                return {"text": found.text, "name": found.names[0], "places": found.places, "spellings": spellings}
        except Exception as error:  # noqa: BLE001 - it cannot be extracted, or pyopbench cannot be imported
            why, place = getattr(error, "why", None) or str(error) or repr(error), getattr(error, "place", None)
            return {"refused": why, "fix": getattr(error, "fix", ""), "place": list(place) if place else None}


def _constants(text: str) -> dict[str, str]:
    """Return the values that a module assigns at its top level, as source, by name."""
    statements = [one for one in ast.parse(text).body if isinstance(one, ast.Assign)]
    return {ast.unparse(one.targets[0]): ast.unparse(one.value) for one in statements}


def as_written(function: Any, line: int) -> Any:
    """Return the original of a function that AutoGraph has converted, with the values that it captures.

    When AutoGraph converts a function, such as the argument of `Dataset.map`, it also converts the functions inside it.
    These keep the globals of the program, and the names of the variables that they capture.

    Args:
        function: any.
        line: of the callback; if there are several lambdas, the next one is meant.

    Raises:
        LookupError: the original is not in its file, or cannot be distinguished from others there.
    """
    made = getattr(function, "__code__", None)
    if made is None or GENERATED not in made.co_filename:
        return function
    name = made.co_name.removeprefix("tf__")
    file = function.__globals__.get("__file__")
    if not file:
        raise LookupError(f"{name} has no file")
    whole = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    found = [one for one in _codes(whole) if (one.co_name, _parameters(one)) == (name, _parameters(made))]
    if name == "<lambda>":
        found = sorted((one for one in found if one.co_firstlineno >= line), key=lambda one: one.co_firstlineno)
        found = found[:1] if len({one.co_firstlineno for one in found[:2]}) == len(found[:2]) else []
    if len(found) != 1:
        raise LookupError(f"{name} is not in its file, or several functions there look alike: give it a name with def")
    cells = dict(zip(made.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[one] for one in found[0].co_freevars)
    return FunctionType(found[0], function.__globals__, name, function.__defaults__, closure)


def _parameters(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of every function in some code."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def describe_call(
    inputs: Any, output_types: Any, caller: CodeType, package: str, as_dtype: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return how a callback is called.

    That is which inputs are tensors, the dtypes of its outputs, the package of the caller, and whether AutoGraph has
    converted the caller.
    """
    is_list = isinstance(output_types, (list, tuple))
    listed = list(output_types) if is_list else [output_types]
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return {
        "are_tensors": [type(one).__module__.startswith("tensorflow.") for one in given],
        "is_list": is_list,
        "dtypes": [_name_of_dtype(one, as_dtype) for one in listed],
        "package": package,
        "is_converted": GENERATED in caller.co_filename,
    }


def _name_of_dtype(given: Any, as_dtype: Callable[[Any], Any]) -> str:
    """Return the name of a dtype of TensorFlow, NumPy or Python, or of the dtype of a `TensorSpec`."""
    try:
        return str(as_dtype(given).name)
    except TypeError:
        return str(as_dtype(getattr(given, "dtype", given)).name)


def _array(value: Any) -> Any:
    import numpy as np

    array = value.numpy() if hasattr(value, "numpy") else value
    array = np.asarray(array)
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.kind == "V":  # dtypes of ml_dtypes, such as bfloat16: `np.save` does not store which one it was
        raise TypeError(f"the dtype {array.dtype} is not supported")
    if array.dtype.hasobject and not all(isinstance(one, (bytes, str)) for one in array.ravel().tolist()):
        raise TypeError("objects that are not text")
    return array


def _save_array(array: Any, file: str) -> dict[str, Any]:
    """Save an array and return the name of its file; text is returned, with one character for each byte."""
    import numpy as np

    if array.dtype.hasobject:
        texts = [one.encode() if isinstance(one, str) else one for one in array.ravel().tolist()]
        return {"shape": list(array.shape), "text": [one.decode("latin-1") for one in texts]}
    np.save(file, array, allow_pickle=False)
    return {"file": Path(file).name}


@contextmanager
def _unchanged_random_numbers() -> Iterator[None]:
    """Preserve the state of the program's random number generators while its statements are run again."""
    import numpy as np

    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - the program's own
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(of_numpy)  # noqa: NPY002


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    """Search a folder for modules too, after all others."""
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
