"""A NumPy function as a function of tensors: a port for its arguments is written, imported and called.

A port is written from examples: those passed to the decorator, and the arguments of calls outside of graphs. Its text
is what `pyopbench port --to traced` writes.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import BadInput
from pyopbench.model.op import Body, Op, Own
from pyopbench.ports.arrays import as_array, as_given, as_outputs, dtype_of
from pyopbench.ports.porting.module_text import import_text
from pyopbench.ports.porting.port import OBSERVED_SIZES, write_port
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import ARRANGE, BODY, arrange, returning_arrays

MOST_SHAPES = 32
"""Examples of different shapes that are kept for each set of dtypes, and ports: an eager loop over arrays of any length
would fill the memory otherwise."""

PLAIN = (bool, int, float, complex, str, bytes, dict, list, tuple)
"""Types of constants that are the same if their values are equal."""

BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

INSTEAD = "call it by tf.numpy_function"

Shapes: TypeAlias = tuple[tuple[int | None, ...] | None, ...]


def decorate(body: Body, examples: Sequence[tuple[Any, ...]]) -> Body:
    """Return a function of tensors that calls ports of a body.

    Args:
        body: takes arrays.
        examples: the positional arguments of calls.

    Raises:
        BadInput: an example is not a tuple of arguments.
    """
    for one in examples:
        if not isinstance(one, tuple):
            raise BadInput(
                "an example does not contain the arguments of a call",
                received=f"{type(one).__name__} {repr(one)[:80]}",
                legal="a tuple with an item for each argument, or a list of such tuples",
                hint="write examples=(array,) for a function of one argument",
            )
    ports = _Ports([_call_of(body, one, {}, None) for one in examples])

    def call(*arguments: Any, **named: Any) -> Any:
        name, owner = getattr(decorated, "__name__", ""), None
        if arguments and getattr(type(arguments[0]), name, None) is decorated:  # it is a method
            owner, *arguments = arguments  # type: ignore[assignment]
        bound = body if owner is None else types.MethodType(body, owner)
        return ports.call(_call_of(bound, arguments, named, None if owner is None else _Same(owner)))

    # AutoGraph converts only the port.
    decorated: Any = functools.wraps(body)(tf.autograph.experimental.do_not_convert(call))
    decorated.py_func = body  # by which ports of other functions find it
    return decorated  # type: ignore[no-any-return]


class _Same:
    """An object as a key: no two are equal, also where they have the same values, or no hash."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True)
class _Call:
    """A call of a body.

    Attributes:
        body: takes the tensors, or arrays in their place.
        tensors: those of the arguments that are tensors or arrays, in the order in which the body takes them.
        keywords: names of the last of them, which the body takes by name.
        constants: the other arguments, which are bound, and the object that the body is a method of.
    """

    body: Body
    tensors: tuple[Any, ...]
    keywords: tuple[str, ...]
    constants: tuple[Any, ...]

    @property
    def kind(self) -> Any:
        """What ports for different shapes have in common."""
        return tuple(one.dtype for one in self.tensors), self.keywords, self.constants

    @property
    def shapes(self) -> Shapes:
        """The shapes of the tensors, as far as they are known."""
        return tuple(None if one.shape.rank is None else tuple(one.shape) for one in self.tensors)

    @property
    def has_values(self) -> bool:
        """Is it a call outside of graphs?"""
        return all(hasattr(one, "numpy") for one in self.tensors)

    def arrays(self) -> tuple[Any, ...]:
        """Return the values of the tensors."""
        return tuple(as_array(one.numpy(), one.dtype.name) for one in self.tensors)

    def text(self) -> str:
        """Return its arguments in words, for an error."""
        each = [f"{one.dtype.name}{'' if one.shape.rank is None else one.shape.as_list()}" for one in self.tensors]
        return ", ".join([*each, *(f"{name}={value!r}"[:80] for name, value in self.constants[1:])])


def _call_of(body: Body, arguments: Sequence[Any], named: Mapping[str, Any], owner: Any) -> _Call:
    """Return a call in which arguments that are not tensors are bound, because a port takes only tensors."""
    if not named and all(map(_is_tensor, arguments)):
        return _Call(body, tuple(map(tf.convert_to_tensor, arguments)), (), (owner,))
    signature = inspect.signature(body)
    # `tf.function` passes defaults, too.
    defaults = {name: one.default for name, one in signature.parameters.items()}
    given = signature.bind(*arguments, **named).arguments
    given = {name: value for name, value in given.items() if not _is_same(value, defaults[name])}
    constants = {name: value for name, value in given.items() if not _is_tensor(value)}
    _check_constants(constants)
    tensors = {name: tf.convert_to_tensor(value) for name, value in given.items() if name not in constants}
    by_name, by_place = [], True
    for name, parameter in signature.parameters.items():  # what is behind one that is not passed on needs its name
        by_place = by_place and name in tensors and parameter.kind in BY_PLACE
        by_name += [name] if name in tensors and not by_place else []
    bound = functools.partial(body, **constants) if constants else body
    taking = _by_position(bound, len(tensors), by_name)
    return _Call(taking, tuple(tensors.values()), tuple(by_name), (owner, *constants.items()))


def _is_same(value: Any, default: Any) -> bool:
    """Is a value the default, or a container of the same values, as `tf.function` passes it on?"""
    if type(value) is not type(default) or not isinstance(value, PLAIN):
        return value is default
    if isinstance(value, dict):
        return value.keys() == default.keys() and all(_is_same(one, default[name]) for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return len(value) == len(default) and all(map(_is_same, value, default))
    return repr(value) == repr(default)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or bool(tf.is_tensor(value))


def _check_constants(constants: Mapping[str, Any]) -> None:
    for name, value in constants.items():
        if any(map(_is_tensor, tf.nest.flatten(value))):
            raise BadInput(
                "an argument is a nest of tensors, which a port cannot take",
                received=f"{name}={value!r}"[:80],
                hint="give the function a named argument for each tensor, or one stacked array",
            )
        try:
            hash(value)
        except TypeError as error:
            raise BadInput(
                "an argument is neither an array nor a constant that can be hashed",
                received=f"{name}={value!r}"[:80],
                hint="pass an array for a value that changes, or a tuple for one that is always the same",
            ) from error


def _by_position(body: Body, count: int, by_name: Sequence[str]) -> Body:
    """Return a body that takes its keyword arguments by position."""
    if not by_name:
        return body
    first = count - len(by_name)

    def around(function: Body) -> Body:
        return lambda *given: function(*given[:first], **dict(zip(by_name, given[first:])))  # noqa: B905 - AutoGraph

    on_arrays = around(body)
    setattr(on_arrays, BODY, body)
    setattr(on_arrays, ARRANGE, around)
    return on_arrays


@dataclass(frozen=True)
class _Port:
    """A port, and the lines of the user's code that none of its examples reached."""

    function: Body
    not_run: tuple[tuple[str, int], ...]


class _Ports:
    """The ports of a body, by the arguments that they are for."""

    def __init__(self, examples: Sequence[_Call]) -> None:
        self._examples: dict[Any, dict[Shapes, list[_Call]]] = {}
        self._ports: dict[Any, _Port] = {}
        for one in examples:
            self._add(one)

    def _add(self, call: _Call) -> None:
        known = self._examples.setdefault(call.kind, {})
        known.setdefault(call.shapes, []).append(call)
        if len(known) > MOST_SHAPES:
            oldest = next(iter(known))
            del known[oldest]
            self._ports.pop((call.kind, (oldest,)), None)

    def call(self, call: _Call) -> Any:
        """Call the port for some tensors, and write it first if necessary."""
        known = self._examples.get(call.kind, {})
        if call.has_values and call.shapes not in known:
            self._add(call)
            known = self._examples[call.kind]
        if call.shapes in known:
            examples = known[call.shapes]
        else:
            examples = [one for several in known.values() for one in several if _fits(call.shapes, one.shapes)]
        if not examples:
            raise self._nothing_seen(call)
        key = call.kind, tuple(dict.fromkeys(one.shapes for one in examples))
        if key not in self._ports:
            self._ports[key] = _written(call, examples[:OBSERVED_SIZES])
        port = self._ports[key]
        if call.shapes not in known:
            _warn(port)
        return port.function(*call.tensors)

    def _nothing_seen(self, call: _Call) -> BadInput:
        known = [one.text() for kind in self._examples.values() for several in kind.values() for one in several]
        return BadInput(
            "a port is written from examples, and there is none with these dtypes, numbers of axes and constants",
            received=call.text(),
            legal="; ".join(dict.fromkeys(known)) or None,
            hint="pass the arguments of a call, @traced(examples=(array,)), or call it outside of the graph first",
        )


def _fits(shapes: Shapes, other: Shapes) -> bool:
    """Do two calls have the same numbers of axes, as far as these are known?"""
    pairs = zip(shapes, other, strict=True)
    return all(one is None or each is None or len(one) == len(each) for one, each in pairs)


def _warn(port: _Port) -> None:
    for file, line in port.not_run:
        place = f"{Path(file).name} line {line}"
        warnings.warn(
            f"{place}: no example of a function decorated with `traced` reached this line, so it may be in the "
            "port unchanged; add an example with these shapes",
            stacklevel=2,
        )


def _written(call: _Call, examples: Sequence[_Call]) -> _Port:
    """Return a port written from some examples.

    Raises:
        BadInput: it cannot be written; with the user's line.
    """
    with tf.init_scope():
        arrays = [one.arrays() for one in examples]
        returned = call.body(*as_given(arrays[0]))
        if not call.tensors:
            raise BadInput(
                "no argument is a tensor or an array, so a port would have no inputs",
                received=call.text() or "no arguments",
                hint="pass an array, such as np.float32(3) for a number, or leave the function undecorated",
            )
        name = str(getattr(call.body, "__name__", "body"))
        op = Op(
            name=name if name.isidentifier() else "body",
            summary="",
            source="",
            make_inputs=lambda size, dtype, rng: arrays[size - 1],
            numpy=returning_arrays(call.body, returned),
            sizes=tuple(range(1, len(arrays) + 1)),
            quick_sizes=tuple(range(1, len(arrays) + 1)),
            bytes_moved=None,
            flops=None,
            dtypes=tuple(map(dtype_of, arrays[0]))[:1],
            outputs=tuple(dtype_of(as_array(one)) for one in as_outputs(returned)),
            own=Own(fixed_sizes=True, keywords=call.keywords),
        )
        try:
            port = write_port(op, "traced")
        except CannotPort as refusal:
            raise BadInput(
                f"cannot write a port of `{name}`: {refusal.why}",
                received=f"{refusal.place[0]}:{refusal.place[1]}" if refusal.place else call.text(),
                legal="functions that docs/port.md describes",
                hint=refusal.fix or INSTEAD,
            ) from refusal
        function = getattr(import_text(f"{op.name}_traced", port.text), port.function)
    return _Port(tf.function(arrange(op.numpy, function)), port.not_run)
