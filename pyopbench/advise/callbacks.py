"""The callbacks of a recorded program: the time of each, the most it could save, and the op file that is measured."""

from __future__ import annotations

import ast
import base64
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct, structs

from pyopbench.find.injected.tallies import FROM_GENERATOR
from pyopbench.find.risks import RANDOM
from pyopbench.find.source import ProgramSource
from pyopbench.find.usage import DISPATCH_SECONDS, MOST_SIZES, SiteUsage, Usage, propose_sizes
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import find
from pyopbench.model.files import write_atomically
from pyopbench.model.syntax import unused_name
from pyopbench.ports.extract.values import NotWritable, expression_of
from pyopbench.store import json_file

BASELINES = {"py_function": BASELINE, "numpy_function": "numpy_function", "py_func": "py_func"}
"""The variant that is a callback of each kind."""


class KeptArray(Struct):
    """An array of a call: the name of a file, or its bytes as text, with its shape."""

    file: str | None = None
    shape: list[int] | None = None
    text: list[str] | None = None


class KeptExample(Struct):
    """Inputs and outputs of a call."""

    inputs: list[KeptArray]
    outputs: list[KeptArray]


class KeptSource(Struct):
    """The source of a body with all it needs, or why there is none.

    Attributes:
        places: for each line of the text, the file and line that it is from, or None.
        spellings: as of `Extracted`.
        place: file and line of what cannot be extracted.
    """

    text: str = ""
    name: str = ""
    places: list[tuple[str, int] | None] = []
    spellings: dict[str, str] = {}
    refused: str = ""
    fix: str = ""
    place: tuple[str, int] | None = None


Unit: TypeAlias = Literal["step", "run"]
"""What is timed: an element that the program takes from its input, or the whole run after TensorFlow's import."""


class Stage(Struct, frozen=True):
    """The call of `Dataset.map` in whose function a callback is made.

    Attributes:
        file, line: of the call.
        parallel: its `num_parallel_calls`: 1 for none, `AUTOTUNE`, or a number.
        end: the line and the column (in bytes) at which the call ends in the file; None before Python 3.11.
    """

    file: str
    line: int
    parallel: int
    end: tuple[int, int] | None = None


class KeptCall(Struct):
    """How the program calls a callback.

    Attributes:
        are_tensors: which inputs are tensors where the program calls.
        is_list: does the program get a list of outputs, rather than one?
        dtypes: that the program expects of the outputs.
        package: the package that the program's file is imported as a part of; empty for none.
        is_converted: has AutoGraph converted the program's function around the call, in every trace? It then converts
            the port, too. Keras calls losses and metrics without it.
        stage: of the input pipeline; None elsewhere.
    """

    are_tensors: list[bool] = []
    is_list: bool = False
    dtypes: list[str] = []
    package: str = ""
    is_converted: bool = False
    stage: Stage | None = None


class KeptSite(Struct):
    """What `find/injected/keeper.py` keeps about a site."""

    key: list[Any]
    examples: list[KeptExample]
    source: KeptSource
    changed_values: list[str]
    bodies: int
    call: KeptCall
    refused: str
    folder: str = ""


@dataclass(frozen=True)
class Step:
    """What a recording shows about a step of the program.

    Attributes:
        steps: how many were recorded, each of so many `seconds`.
        waited: share of the time that the program waited for its input.
        unit: `step`, or `run` if the program takes too few elements, so that it is timed as a whole.
    """

    seconds: float
    steps: float
    waited: float
    unit: Unit = "step"

    @property
    def total_seconds(self) -> float:
        """Seconds of all steps."""
        return self.steps * self.seconds


@dataclass(frozen=True)
class Callback:
    """A line of the program that makes a callback, over all graphs in which it was traced.

    Attributes:
        name: of its op: letters, digits and underscores, different for each.
        file: the user's, relative to the folder that is copied; "" if it is not in that folder.
        in_input: is it in a function of a `tf.data` pipeline?
        seconds: in the body, forward and gradient.
        flight_seconds: from where its inputs are ready to where its outputs are; None where that was not measured.
        kept: what was kept of it, with file names as in `file`.
        sizes: calls by the elements of the largest input.
        stage: of the input pipeline, with `file` as above; None if that is not known.
        was_ended: was the program ended while it was recorded? Then it may ask for a gradient later.
    """

    name: str
    file: str
    line: int
    kind: str
    mode: str
    body: str
    in_input: bool
    calls: int
    gradient_calls: int
    seconds: float
    flight_seconds: float | None = None
    kept: KeptSite | None = None
    sizes: Mapping[int, int] = field(default_factory=dict)
    stage: Stage | None = None
    was_ended: bool = False

    @cached_property
    def seed_with(self) -> str:
        """The statement that seeds what the body draws random numbers from; empty if it draws none."""
        return "" if self.kept is None else _seeding(self.kept.source.text)

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file or '(elsewhere)'}:{self.line}"

    @property
    def title(self) -> str:
        """Its place, and the name of the body without the functions around it."""
        return f"{self.place} {self.body.rpartition('<locals>.')[2]}"

    @property
    def where(self) -> str:
        """Where it is called, in words."""
        return "input pipeline" if self.in_input else "graph" if self.mode == "graph" else "eager code"

    @property
    def most_seconds(self) -> float:
        """The most that it can cost: the time between inputs and outputs, or in the body, and an allowance per call.

        The allowance is for threads that continue after a callback: a step without callbacks may run in one thread.
        """
        allowance = DISPATCH_SECONDS * (self.calls + self.gradient_calls)
        return max(self.flight_seconds or 0.0, self.seconds) + allowance

    @property
    def may_need_gradient(self) -> bool:
        """Does the program ask for its gradient, or might it do so after the end of the recording?"""
        return bool(self.gradient_calls or (self.was_ended and not self.in_input))

    def most_saved(self, step: Step) -> float:
        """Return the share of a step that would be saved if it took no time."""
        return min(1.0, self.most_seconds / step.total_seconds)

    def obstacles(self) -> list[str]:
        """Return all reasons why it cannot be changed, the one that decides first; empty if there is none."""
        kept, found = self.kept, list[str]()
        if self.body == FROM_GENERATOR:
            return ["it calls a Python generator, which no port replaces: map a function over numbers or file names"]
        if not self.file:
            return ["its file is not in the folder of the program, so a patch cannot change it"]
        if self.mode == "eager" and self.kind != "py_function":
            found.append("no port replaces it in eager code: call the function itself, or put it into a tf.function")
        if kept is None:
            return [*found, "no call could be recorded"]
        if kept.bodies > 1:
            found.append(f"the line calls {kept.bodies} different functions: give each a line of its own")
        if kept.refused:
            found.append(kept.refused)
        elif not kept.examples:
            found.append("no call could be recorded")
        elif not kept.call.dtypes or not kept.examples[0].outputs:
            found.append("it returns nothing, so it is called for its side effects")
        if kept.changed_values:
            names = ", ".join(f"`{one}`" for one in kept.changed_values if one) or "a value that the callback reads"
            found.append(f"the program changes {names} while it runs: pass the value to the callback as an argument")
        if not kept.source.text and (kept.source.refused or not found):
            place = f"{kept.source.place[0]}:{kept.source.place[1]}: " if kept.source.place else ""
            fix = f" ({kept.source.fix})" if kept.source.fix else ""
            found.append(f"its source cannot be extracted: {place}{kept.source.refused}{fix}")
        return found


SEEDS = {
    "numpy": "np.random.seed({seed})",
    "random": "random.seed({seed})",
    "tensorflow": "tf.random.set_seed({seed})",
}
RESTARTING = ("seed", "set_state", "setstate")
"""Functions after which a generator draws the same numbers again."""


def _seeding(text: str) -> str:
    """Return the statement that seeds what a source draws from; empty if it draws nothing, or seeds by itself."""
    tree = ast.parse(text)
    source = ProgramSource.of(tree)
    paths = {source.path(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
    drawing = [one for one in paths if one.startswith((*RANDOM, "tensorflow.random.", "tensorflow.image.random_"))]
    if any(one.rpartition(".")[2] in RESTARTING for one in drawing):
        return ""
    return "; ".join(SEEDS[one] for one in sorted({path.partition(".")[0] for path in drawing}))


def callbacks_of(usage: Usage, kept: Sequence[KeptSite], original: Mapping[str, str]) -> list[Callback]:
    """Return the callbacks of a recording, the costliest first.

    `original` has the user's file, as `Callback.file`, for that of a site; files without one are elsewhere.
    """
    by_place: dict[tuple[str, int, str, str], list[SiteUsage]] = {}
    for site in usage.sites:
        by_place.setdefault((site.file, site.line, site.kind, site.mode), []).append(site)
    # No op of a user can have the name of one of the package.
    found, names = [], {*find("ops")}
    for (file, line, kind, mode), sites in by_place.items():
        mine = [one for one in kept if (one.key[0], one.key[1], one.key[3], one.key[4]) == (file, line, kind, mode)]
        largest = max(mine, key=lambda one: len(one.examples), default=None)
        calls: dict[int, int] = {}
        for site in sites:
            for size, number in site.calls_by_size.items():
                calls[size] = calls.get(size, 0) + number
        if largest is not None:
            source, place = largest.source, largest.source.place
            places = [one and (original.get(one[0], ""), one[1]) for one in source.places]
            refused_at = (original[place[0]], place[1]) if place and place[0] in original else None
            largest = structs.replace(largest, source=structs.replace(source, places=places, place=refused_at))
        flights = [one.flight_seconds for one in sites]
        stage = None if largest is None else largest.call.stage
        if stage is not None:
            stage = structs.replace(stage, file=original.get(stage.file, ""))
        found.append(
            Callback(
                name=_name_of(largest.source.name if largest is not None else sites[0].body, line, names),
                file=original.get(file, ""),
                line=line,
                kind=kind,
                mode=mode,
                body=sites[0].body,
                in_input=any(one.in_input for one in sites),
                calls=sum(one.forward.calls for one in sites),
                gradient_calls=sum(one.gradient.calls for one in sites),
                seconds=sum(one.seconds for one in sites),
                flight_seconds=None if None in flights else sum(filter(None, flights)),
                kept=largest,
                sizes=dict(sorted(calls.items())),
                stage=stage,
            )
        )
    return sorted(found, key=lambda one: (-one.most_seconds, one.file, one.line))


def _name_of(body: str, line: int, taken: set[str]) -> str:
    name = re.sub(r"\W+", "_", body.replace("<lambda>", "body"), flags=re.ASCII).strip("_").lower() or "body"
    name = name if name[0].isalpha() else f"body_{name}"
    if name in taken or name in ("body", "func", "function"):
        name = f"{name}_{line}"
    name = unused_name(name, taken)
    taken.add(name)
    return name


def read_kept(parts: Path) -> list[KeptSite]:
    """Return what the processes of a recording kept."""
    found = []
    for path in sorted(parts.glob("*.kept/kept.json")):
        for site in json_file.read(path, list[KeptSite]):
            site.folder = str(path.parent)
            found.append(site)
    return found


OP_FILE_HEAD = '''"""{name}: the {kind} at {place}, with inputs that the program passed."""

import base64
import zlib

import numpy

from pyopbench import OwnOp


'''
OP_FILE = """{body}


{inputs}

OP = OwnOp(
    summary={summary!r},
    source={place!r},
    copied={copied},
    inputs=RECORDED_INPUTS,
    {parameter}={function},
    {more}baseline={baseline!r},
)
"""


def write_op_file(callback: Callback, folder: Path) -> Path:
    """Write the op file of a callback, with its kept inputs and the source of its body; return its path."""
    kept = callback.kept
    assert kept is not None
    parameter = "py_function" if callback.kind == "py_function" else "numpy"
    head = OP_FILE_HEAD.format(name=callback.name, kind=callback.kind, place=callback.place)
    body, more = kept.source.text.strip(), ""
    if callback.seed_with:
        more += f"seed_with={callback.seed_with!r},\n    "
    if parameter == "numpy" or not callback.may_need_gradient:
        # The program asked for no gradient, or this kind of callback has none: a port needs none either.
        more += "differentiable=(),\n    "
    content = head + OP_FILE.format(
        body=body,
        inputs=recorded_arrays(callback, folder, "inputs"),
        summary=f"the body of the {callback.kind} at {callback.place}",
        place=callback.place,
        copied=tuple(_copied(kept.source.text, kept.source.places, body, head.count("\n") + 1)),
        parameter=parameter,
        function=kept.source.name,
        more=more,
        baseline=BASELINES[callback.kind],
    )
    path = folder / f"{callback.name}.py"
    write_atomically(path, content.encode())
    return path


def _copied(
    text: str, places: Sequence[tuple[str, int] | None], block: str, first: int
) -> list[tuple[int, int, str, int]]:
    """Return where the lines of a block of a source are from, as `OwnOp.copied` has it, if it begins at a line."""
    above = text[: text.index(block)].count("\n")
    runs: list[tuple[int, int, str, int]] = []
    for number, place in enumerate(places[above:]):
        if not place or not place[0]:
            continue
        begin, lines, file, line = runs[-1] if runs else (0, 0, "", 0)
        if (begin + lines, file, line + lines) == (first + number, *place):
            runs[-1] = (begin, lines + 1, file, line)
        else:
            runs.append((first + number, 1, *place))
    return runs


def mix_of(callback: Callback) -> dict[int, int]:
    """Return how often the program calls each size that is in the op file; empty if sizes are not known."""
    assert callback.kept is not None
    sizes = [_size(example, callback.kept) for example in _chosen(callback.kept)]
    near: dict[int, int] = {}
    for size, number in callback.sizes.items():
        nearest = min(sizes, key=lambda one: abs(np.log(one) - np.log(size))) if sizes else 0
        near[nearest] = near.get(nearest, 0) + number
    return dict(sorted(near.items())) if all(near) else {}


def recorded_arrays(callback: Callback, folder: Path, which: Literal["inputs", "outputs"]) -> str:
    """Return the statement with the recorded inputs or outputs of one call of each size, as `RECORDED_INPUTS`.

    Large arrays are saved to a folder, and loaded from there.
    """
    assert callback.kept is not None
    lines = []
    for number, example in enumerate(_chosen(callback.kept)):
        values = [load(one, Path(callback.kept.folder)) for one in getattr(example, which)]
        arrays = [_written(one, folder, f"{which}_{number}_{place}") for place, one in enumerate(values)]
        lines.append(f"    ({', '.join(arrays)}{',' if len(arrays) == 1 else ''}),")
    return "\n".join([f"RECORDED_{which.upper()} = [", *lines, "]"])


def _chosen(kept: KeptSite) -> list[KeptExample]:
    """Return one call of each size of the inputs, of at most `MOST_SIZES` sizes."""
    by_size = {_size(example, kept): example for example in kept.examples}
    sizes = sorted(size for size in by_size if size) or sorted(by_size)
    return [by_size[size] for size in (propose_sizes(sizes) if len(sizes) > MOST_SIZES else sizes)]


def _size(example: KeptExample, kept: KeptSite) -> int:
    return max((int(load(one, Path(kept.folder)).size) for one in example.inputs), default=0)


def load(kept: KeptArray, folder: Path) -> np.ndarray[Any, Any]:
    """Return an array that was kept."""
    if kept.file is not None:
        found: np.ndarray[Any, Any] = np.load(folder / Path(kept.file).name, allow_pickle=False)
        return found
    texts = [one.encode("latin-1") for one in kept.text or ()]
    return np.array([*texts, None], object)[:-1].reshape(kept.shape or ())


LITERAL_ELEMENTS = 400
"""An array of at most this many elements is written into the op file, and so into the test of the port."""
PACKED_BYTES = 32 * 1024
"""A larger one is compressed and written into the file if that is no longer than this, else stored next to it."""


def _written(array: np.ndarray[Any, Any], folder: Path, name: str) -> str:
    """Return the expression for an array: its values, or the file that they are saved to."""
    if array.dtype.hasobject:
        return f"numpy.array({array.tolist()!r}, object)"
    if array.size <= LITERAL_ELEMENTS:
        with suppress(NotWritable):  # a dtype that is not NumPy's own
            return ast.unparse(expression_of(array, lambda _: ast.Name("numpy", ast.Load())))
    packed = base64.b85encode(zlib.compress(array.tobytes(), 9)).decode()
    if len(packed) <= PACKED_BYTES and array.dtype.isnative:
        return (
            f"numpy.frombuffer(zlib.decompress(base64.b85decode({packed!r})), {array.dtype.name!r})"
            f".reshape({array.shape!r})"
        )
    path = folder / f"{name}.npy"
    np.save(path, array, allow_pickle=False)
    return f"numpy.load({str(path)!r})"
