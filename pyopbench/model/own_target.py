"""A team's own ops as they are named on a command line: `my_op.py`, `my_module.py:function`, `package.module:function`.

What a command line or Python names is read once, into `OwnOps`, which is passed on from call to call and sent to each
worker. It never goes into a folder of results: nothing that is stored there is run later.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeAlias

from pyopbench.model.case import BASELINE, OWN_BASELINE
from pyopbench.model.errors import BadInput
from pyopbench.model.files import load_file, real_path

LEGAL = "an op's name, my_op.py, my_module.py:function or package.module:function"
KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.ASCII | re.DOTALL)
"""An input that is given by name: `axis=np.int32(1)`."""

MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True)
class Target:
    """An op of the user's.

    `inputs` has an example of each argument, as a Python expression over `np` and `rng` or as the path of a .npy file;
    `name=` before it gives it by name.
    """

    name: str  # in every id and table: letters, digits and underscores
    place: str  # the file, absolute, or the dotted name of a module
    function: str = ""  # the body of the current callback; empty where the file ends `OP = ...`
    inputs: tuple[str, ...] = ()
    seed_with: str = ""  # a statement that seeds what the body draws from
    baseline: str = ""  # the current callback, as the file says; empty where it does not
    program: str = ""  # what makes the dataset in which it is measured, as `FILE:FUNCTION`

    @property
    def is_file(self) -> bool:
        """Is it a file, and no module to be imported by name?"""
        return self.place.endswith(".py")

    @property
    def words(self) -> list[str]:
        """What a command line is given to name it again, with its inputs."""
        inputs = [word for one in self.inputs for word in ("--input", one)]
        return [self.text, *inputs, *(("--seed-with", self.seed_with) if self.seed_with else ())]

    @property
    def expressions(self) -> list[str]:
        """The inputs without their names."""
        return [split_input(one)[1] for one in self.inputs]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The names of the last inputs, which are given by name."""
        return tuple(name for one in self.inputs if (name := split_input(one)[0]))

    @property
    def fingerprint(self) -> str:
        """A hash of what is measured, as far as it is in files: another one is another op, wherever these lie."""
        source = Path(self.place).read_bytes() if self.is_file else b""
        inputs = map(_content_of_input, self.inputs)
        parts = [source, self.function.encode(), *inputs, self.seed_with.encode()]
        if self.program:
            path, _, function = self.program.rpartition(":")
            parts += [Path(path).read_bytes(), function.encode()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    @property
    def text(self) -> str:
        """What names it on a command line."""
        return f"{self.place}:{self.function}" if self.function else self.place

    def load(self) -> ModuleType:
        """Return the module of the op; a file is run, and can be imported by its name from then on."""
        if not self.is_file:
            return importlib.import_module(self.place)
        path = Path(self.place)
        root, dotted = path.parent, path.stem
        while (root / "__init__.py").is_file():
            root, dotted = root.parent, f"{root.name}.{dotted}"
        # Last, so that a user's file with the name of a module of TensorFlow does not replace that module.
        sys.path.append(str(root))
        if "." in dotted:  # a part of a package, which may import the others relatively
            module = importlib.import_module(dotted)
            if real_path(Path(str(module.__file__))) != real_path(path):
                hint = f"uninstall that one, or put {root} on PYTHONPATH"
                raise BadInput(f"{dotted} is imported from another place", received=module.__file__, hint=hint)
            return module
        return load_file(path, f"pyopbench_own_{self.name}")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Target:
        """Return what `asdict` made plain, after JSON too."""
        return cls(**{**plain, "inputs": tuple(plain["inputs"])})


OwnOps: TypeAlias = Mapping[str, Target]
"""The own ops of a run, by name, in the order in which they were named."""
NO_OWN_OPS: OwnOps = MappingProxyType({})


def own_ops(*targets: Target) -> OwnOps:
    """Return own ops by name."""
    return {target.name: target for target in targets}


def split_input(text: str) -> tuple[str, str]:
    """Return the name, empty for none, and the expression of an input."""
    match = KEYWORD.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def _content_of_input(text: str) -> bytes:
    """Return an expression as it is, and of a file what is in it, which may lie elsewhere on another machine."""
    name, expression = split_input(text)
    if not expression.endswith(".npy"):
        return text.encode()
    return f"{name}={hashlib.sha256(Path(expression).read_bytes()).hexdigest()}".encode()


def is_target(text: str) -> bool:
    """Does it name an own op, and not one that is found by its name?"""
    return text.endswith(".py") or ":" in text or "/" in text


def read_target(text: str, inputs: Sequence[str], taken: Sequence[str], seed_with: str = "") -> Target:
    """Return what a command line names; `inputs` are for a function, and `taken` are names that other ops have."""
    place, _, function = text.partition(":") if not text.endswith(".py") else (text, "", "")
    is_file = place.endswith(".py")
    if (function and not function.isidentifier()) or not (is_file or (function and MODULE.fullmatch(place))):
        raise BadInput("not an op", received=repr(text), legal=LEGAL, hint=f"for example {place}:my_function")
    tree = _parse(Path(place), place, "a file that Python can parse") if is_file else None
    place = str(real_path(place)) if is_file else place
    _check_inputs(text, function, inputs)
    _parse(seed_with, "--seed-with", "a Python statement, such as np.random.seed({seed})")
    name = _name(function or Path(place).stem)
    if name in taken and function:
        name = f"{_name(Path(place).stem if is_file else place)}_{name}"
    if name in taken:
        raise BadInput("your op has the name of another op", received=f"{name}, from {text}", hint="rename the file")
    baseline = "" if function or tree is None else _baseline_in(tree)
    return Target(name, place, function, tuple(inputs), seed_with, baseline)


def read_program(text: str) -> str:
    """Return the file, absolute, and the function that make a dataset, as a command line names them."""
    place, colon, function = text.rpartition(":")
    if not colon or not place.endswith(".py") or not function.isidentifier():
        raise BadInput(
            "not a function that makes a dataset",
            received=repr(text),
            hint="name a function without arguments that returns a tf.data.Dataset: --program train.py:make_dataset",
        )
    _parse(Path(place), place, "a file that Python can parse")
    return f"{real_path(place)}:{function}"


def _baseline_in(tree: Any) -> str:
    """Return the current callback that an op file ends with, which is seen without running the file."""
    for statement in reversed(tree.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id="OP")], value=ast.Call(keywords=keywords)):
                values = {keyword.arg: keyword.value for keyword in keywords}
                named = getattr(values.get("baseline"), "value", "")
                if isinstance(named, str) and named:
                    return named
                return BASELINE if "py_function" in values and "numpy" not in values else ""
    return ""


def usual_baseline(ops: Sequence[str], own: OwnOps, variants: Sequence[str] = ()) -> str:
    """Return the current callback of a run for which none is named.

    That of a user's own ops is what their files say, and else numpy_function. Built-in ops have
    py_function_numpy, which has a number wherever another callback has one, and so have ops that disagree.
    """
    said = {own[name].baseline or OWN_BASELINE if name in own else BASELINE for name in ops}
    usual = said.pop() if len(said) == 1 else BASELINE
    return BASELINE if usual not in variants and BASELINE in variants else usual


def _check_inputs(text: str, function: str, inputs: Sequence[str]) -> None:
    names = [split_input(one)[0] for one in inputs]
    is_in_order = names == [*[""] * names.count(""), *dict.fromkeys(filter(None, names))]
    if bool(function) != bool(inputs) or not is_in_order:
        raise BadInput(
            "a function needs one example per argument, positional ones first; an op file has its own inputs",
            received=" ".join([text, *(f"--input {one!r}" for one in inputs)]),
            hint="give --input once for each argument of a function, or --input NAME=...: a Python expression with np "
            'and rng, or a .npy file; for example --input "np.zeros((480, 640, 3), np.uint8)"',
        )
    for one in inputs:
        if not (expression := split_input(one)[1]).endswith(".npy"):
            _parse(expression, "--input", "a Python expression, such as rng.random((100, 3))", mode="eval")


def _parse(source: str | Path, place: str, legal: str, mode: str = "exec") -> ast.AST:
    """Return a file, or the value of an option, as a tree."""
    try:
        return ast.parse(source if isinstance(source, str) else source.read_bytes(), place, mode=mode)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        received = place if isinstance(source, Path) else f"{place} {source!r}"
        if isinstance(error, OSError):
            what = f"the file cannot be read: {error.strerror}"
            raise BadInput(what, received=received, hint="check its path") from error
        message = f"{type(error).__name__}: {error}"
        raise BadInput(message, received=received, legal=legal, hint="fix it and try again") from error


def _name(text: str) -> str:
    """Return a name that is safe as a part of ids, paths and tables."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_").lower() or "op"
    return name if not name[0].isdigit() else f"op_{name}"
