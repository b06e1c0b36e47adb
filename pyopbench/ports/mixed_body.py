"""Rewrites a body of `tf.py_function` that computes with tensors and with NumPy, so that it takes arrays.

In `x[:, 0] - flag * 1e9` TensorFlow converts the array to the dtype of the tensor, and NumPy would widen both. The new
body converts the array itself. Where that is necessary is observed while the old body runs on tensors. The new body
then runs on arrays, and each value inside it must have the same dtype, shape and bits as in the old one.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.model.syntax import Function, local_names, number_of, read_source
from pyopbench.ports import conversions
from pyopbench.ports.arrays import as_tuple, is_same, read_only
from pyopbench.ports.extract.definitions import CannotExtract
from pyopbench.ports.extract.extraction import extract
from pyopbench.ports.extract.module import Extracted, load, place_of_user, unparsed
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import written

VALUE, BEFORE = "pyopbench_value", "pyopbench_before"
"""The functions that a watched body calls: with a value, and for `x += y` with `x` and `y`."""

MOST_VALUES = 100_000
"""Values inside a body that are compared; a body with more is refused."""

VALUES = (
    *(ast.Attribute, ast.BinOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.IfExp, ast.List, ast.ListComp),
    *(ast.Name, ast.Subscript, ast.UnaryOp),
)
"""Expressions whose values are compared. Not tuples: without parentheses, one cannot be passed as an argument."""

OPERATORS = (ast.BinOp, ast.Compare, ast.AugAssign)

COPY = "if it writes to an array that it got from `x.numpy()`, copy that first"

NO_NUMPY = "this needs NumPy, and `np` is the name of something else there"
FIX = "begin the body with `x = x.numpy()` for each of its tensors, and cast where you need a dtype"

Fingerprint: TypeAlias = tuple[Any, ...]
"""The part of a value that is compared: its kind, and of arrays and tensors the dtype, shape and a hash of the bits."""


def rewrite_for_arrays(function: Body, examples: Sequence[Sequence[Any]]) -> Body | None:
    """Return a body that takes arrays and returns the same as another one does for eager tensors.

    The result is None if the body uses no arrays, but TensorFlow alone.

    Args:
        function: the body that takes eager tensors.
        examples: arrays for its arguments.

    Raises:
        CannotPort: the body cannot be rewritten, or the examples do not reach all of it; with the user's line.
    """
    body = _body_of(function, len(examples[0]))
    try:
        return _rewrite(body, examples)
    except CannotPort as refusal:
        refusal.place = place_of_user(refusal.place)
        raise


def without_conversions(function: Body, inputs: int) -> Body | None:
    """Return a body without what makes tensors of arrays, or arrays of tensors.

    The result is None if that leaves something of TensorFlow's in it, also where no example goes.

    Args:
        function: the body that takes eager tensors.
        inputs: how many it takes.

    Raises:
        CannotPort: it cannot be extracted, or NumPy is needed and has another name there.
    """
    body, edits = _body_of(function, inputs), _Edits()
    for definition in body.definitions:
        for node in ast.walk(definition):
            body.convert(node, definition, edits)
    changed = [one for one in body.changed(edits).body if isinstance(one, Function)]
    nodes = [(node, definition) for definition in changed for node in ast.walk(definition)]
    if any(conversions.is_of_tensorflow(body.value_of(node, definition)) for node, definition in nodes):
        return None
    return body.loaded(edits)


def _body_of(function: Body, inputs: int) -> _Body:
    try:
        extracted, _, _ = extract(lambda extraction: extraction.add(written(function), "", inputs))
    except CannotExtract as error:
        raise CannotPort(error.why, fix=error.fix, place=place_of_user(error.place)) from error
    body = _Body(extracted)
    return body if body.numpy_name or "np" in body.scope else _Body(_with_numpy(extracted))


def _with_numpy(extracted: Extracted) -> Extracted:
    """Return the module with `import numpy as np` added, because the rewritten body may use it."""
    return replace(extracted, text=f"import numpy as np\n{extracted.text}", places=(None, *extracted.places))


def has_arrays(function: Body, examples: Sequence[Sequence[Any]]) -> bool:
    """Does a body that takes eager tensors also compute with arrays? False if that cannot be seen."""
    try:
        return rewrite_for_arrays(function, examples) is not None
    except CannotPort:
        return False


def _rewrite(body: _Body, examples: Sequence[Sequence[Any]]) -> Body | None:
    tensors = [tuple(map(tf.constant, one)) for one in examples]
    try:
        expected = body.run(_Edits(), tensors)
    except (SyntaxError, ValueError) as error:  # such as a pattern of `match`, which is no expression
        raise CannotPort("the body cannot be watched", fix=FIX, place=(body.source.path, 1)) from error
    if not {ARRAY, SCALAR} & set().union(*expected.kinds.values()):
        return None
    edits = body.edits(expected)
    # A write to what shares memory with an input fails: `x.numpy()` is a copy of a tensor, but not of an array.
    found = body.run(edits, [read_only(one) for one in examples])
    body.require_same(found, expected, edits)
    return body.loaded(edits)


class _Run:
    """What is recorded while a body runs.

    Attributes:
        nodes: the expressions and statements, by their numbers.
        values: the number of each expression with its value, in the order in which they were computed.
        casts: number of an operand -> the dtypes that TensorFlow converted it to, `None` if it was not converted.
        kinds: number of an expression -> the kinds of its values, such as `tensor`.
        outputs: the outputs of each call.
    """

    def __init__(self, nodes: dict[int, ast.AST]) -> None:
        self.nodes = nodes
        self.values: list[tuple[int, Fingerprint]] = []
        self.casts: dict[int, set[tuple[str, int] | None]] = {}
        self.kinds: dict[int, set[str]] = {}
        self.outputs: list[tuple[Any, ...]] = []
        self.last: dict[int, Any] = {}

    def value(self, number: int, value: Any) -> Any:
        """Record the value of an expression, and return it."""
        if len(self.values) == MOST_VALUES:
            raise CannotPort(f"more than {MOST_VALUES:,} values are computed in the body", fix=FIX)
        self.values.append((number, _fingerprint(value)))
        self.last[number] = value
        self.kinds.setdefault(number, set()).add(_kind_of(value))
        node = self.nodes[number]
        if isinstance(node, ast.BinOp):
            self._note_operands(node.left, node.right, value)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            self._note_operands(node.left, node.comparators[0], value)
        return value

    def before(self, number: int, name: Any, value: Any) -> Any:
        """Record both sides of `x += y` before the addition, and return `y`."""
        self.value(number, name)
        node = self.nodes[number]
        assert isinstance(node, ast.AugAssign)
        self._note(node.value, value, name if tf.is_tensor(name) else None)
        return value

    def _note_operands(self, left: ast.expr, right: ast.expr, result: Any) -> None:
        """Record what TensorFlow converted the operands to; if the result is a tensor, TensorFlow has computed it."""
        one, other = (self.last.get(number_of(node), _literal(node)) for node in (left, right))
        computes = tf.is_tensor(result)
        self._note(left, one, other if computes and tf.is_tensor(other) else None)
        self._note(right, other, one if computes and tf.is_tensor(one) else None)

    def _note(self, node: ast.expr, value: Any, tensor: Any) -> None:
        cast = None
        if tensor is not None and isinstance(value, np.ndarray | np.generic | list | tuple):
            array = np.asarray(value)
            same = isinstance(value, np.ndarray | np.generic) and array.dtype.name == tensor.dtype.name
            cast = None if same else (tensor.dtype.name, array.ndim)
        self.casts.setdefault(number_of(node), set()).add(cast)


TENSOR, ARRAY, SCALAR, SHAPE, DTYPE, OTHER = "tensor", "array", "scalar", "shape", "dtype", "other"


def _kind_of(value: Any) -> str:
    if tf.is_tensor(value):
        return TENSOR
    kinds = {np.ndarray: ARRAY, np.generic: SCALAR, tf.TensorShape: SHAPE, tf.DType: DTYPE}
    return next((kind for one, kind in kinds.items() if isinstance(value, one)), OTHER)


def _literal(node: ast.expr) -> Any:
    """Return a list for a literal list or tuple, whose value may not be recorded; None for any other node."""
    return [0] if isinstance(node, ast.List | ast.Tuple) else None


def _fingerprint(value: Any) -> Fingerprint:
    if tf.is_tensor(value) and not hasattr(value, "numpy"):
        return ("symbolic",)
    if tf.is_tensor(value) or isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.hasobject and not array.ndim and isinstance(array.item(), bytes):
            return _fingerprint(array.item())
        if array.dtype.hasobject:
            return ("array", "object", array.shape, repr(array.tolist()))
        if array.dtype.kind in "fc":  # NaN has several bit patterns, and libraries differ in which they return
            array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
        bits = hashlib.blake2b(array.tobytes(), digest_size=16).digest()
        return ("array", array.dtype.name, array.shape, bits)
    if isinstance(value, bytes):  # tf.numpy_function passes a scalar string as bytes
        return ("bytes", len(value), hashlib.blake2b(value, digest_size=16).digest())
    if isinstance(value, tf.DType | np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return ("dtype", np.dtype(getattr(value, "as_numpy_dtype", value)).name)
    is_plain = isinstance(value, int | float | complex | str | type)
    return (type(value).__name__, repr(value)) if is_plain else ("other",)


@dataclass
class _Edits:
    """Changes of a body, by the numbers of its nodes.

    Attributes:
        instead: the text that replaces an expression, and the number of the only part of it that stays, `{0}`.
        casts: the text around an expression, `{0}`, after all other changes.
        assigned: `x += y` that become `x = x + y`.
        dropped: nodes inside replaced expressions that do not stay.
    """

    instead: dict[int, tuple[str, int]] = field(default_factory=dict)
    casts: dict[int, str] = field(default_factory=dict)
    assigned: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)

    def replace(self, node: ast.AST, text: str, part: ast.AST) -> None:
        """Have a text stand for a node, with one part of the node in it."""
        self.instead[number_of(node)] = text, number_of(part)
        self.dropped |= {*map(number_of, ast.walk(node))} - {*map(number_of, ast.walk(part)), number_of(node)}


class _Changing(ast.NodeTransformer):
    """Changes a copy of a body.

    Args:
        edits: what is changed.
        watched: numbers of nodes whose values are passed through functions that record them.
    """

    def __init__(self, edits: _Edits, watched: Set[int]) -> None:
        self.edits, self.watched = edits, watched
        self.changed: dict[int, Any] = {}

    def visit(self, node: ast.AST) -> Any:
        """Return what stands for a node."""
        number, edits = number_of(node), self.edits
        new: Any = self.generic_visit(node)
        if number in edits.instead:
            text, part = edits.instead[number]
            new = conversions.expression(text, [self.changed[part]], node)
        if isinstance(new, ast.AugAssign):
            name = ast.copy_location(ast.Name(ast.unparse(new.target), ast.Load()), new)
            if number in self.watched:
                new.value = conversions.expression(f"{BEFORE}({number}, {{0}}, {{1}})", [name, new.value], new.value)
            if number in edits.assigned:
                total = ast.copy_location(ast.BinOp(name, new.op, new.value), new)
                new = ast.copy_location(ast.Assign([new.target], total), new)
        elif number in self.watched:
            new = conversions.expression(f"{VALUE}({number}, {{0}})", [new], node)
        if number in edits.casts:
            new = conversions.expression(edits.casts[number], [new], node)
        self.changed[number] = new
        return new


class _Body:
    """A body in a module of its own, which runs with changes while its values are recorded."""

    def __init__(self, extracted: Extracted) -> None:
        self.extracted = extracted
        self.source = read_source(extracted.path)
        self.definitions = [one for one in self.source.tree.body if isinstance(one, Function)]
        self.nodes = {number_of(node): node for node in ast.walk(self.source.tree)}
        self.scope = vars(load(extracted))

    def changed(self, edits: _Edits, watched: Set[int] = frozenset()) -> ast.Module:
        """Return the module with changes."""
        tree: ast.Module = _Changing(edits, watched).visit(copy.deepcopy(self.source.tree))
        return tree

    def loaded(self, edits: _Edits) -> Body:
        """Return the changed body, in a module of its own."""
        text, places = unparsed([(one, self.source.path) for one in self.changed(edits).body])
        new = replace(self.extracted, text=text, places=tuple(map(place_of_user, places)))
        function: Body = getattr(load(new), new.names[-1])
        return function

    def run(self, edits: _Edits, calls: Sequence[Sequence[Any]]) -> _Run:
        """Call the changed body, and return what was recorded."""
        run = _Run(self.nodes)
        tree = self.changed(edits, {number_of(one) for one in self._watched()})
        scope: dict[str, Any] = {"__name__": self.extracted.path, VALUE: run.value, BEFORE: run.before}
        code = compile(tree, self.extracted.path, "exec", dont_inherit=True)
        try:
            exec(code, scope)
        except Exception as error:  # as with data that the extracted module reads only once
            raise CannotPort(f"the module of the body cannot be loaded twice: {error}", fix=FIX) from error
        run.values.clear()  # those that the module computes when it is loaded
        for arguments in calls:
            run.outputs.append(self._call(scope[self.extracted.names[-1]], arguments))
        return run

    def _call(self, function: Body, arguments: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return as_tuple(function(*arguments))
        except CannotPort as refusal:
            refusal.place = self._place_of(refusal)
            raise
        except Exception as error:
            is_on_tensors = any(map(tf.is_tensor, arguments))
            kind = "tensors" if is_on_tensors else "arrays that nothing may write to"
            why = f"the body fails with {kind}: {type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
            raise CannotPort(
                why, fix=FIX if is_on_tensors else f"{FIX}; {COPY}", place=self._place_of(error)
            ) from error

    @property
    def numpy_name(self) -> str:
        """The name of NumPy in the module; empty if it does not import NumPy."""
        return next((name for name, value in self.scope.items() if value is np), "")

    def _watched(self) -> Iterator[ast.AST]:
        for definition in self.definitions:
            for statement in definition.body:
                yield from _watched_in(statement)

    def edits(self, run: _Run) -> _Edits:
        """Return the changes with which the body takes arrays, from what was recorded when it ran on tensors.

        Raises:
            CannotPort: it calls a function of TensorFlow, or an operator has not run.
        """
        edits, numpy = _Edits(), self.numpy_name
        for definition in self.definitions:
            for node in ast.walk(definition):
                self._edit(node, definition, run, edits, numpy)
            self._require_run(definition, run)
        return edits

    def _require_run(self, definition: ast.AST, run: _Run) -> None:
        """Check that code that has not run cannot turn an array into a tensor, or a tensor into an array."""
        nodes = list(ast.walk(definition))
        kinds: dict[str, set[str]] = {}
        for one in nodes:
            if isinstance(one, ast.Name):
                kinds.setdefault(one.id, set()).update(run.kinds.get(number_of(one), ()))
        inside = {name for one in nodes if isinstance(one, Function | ast.Lambda) for name in local_names(one)}

        edited = self._functions_with_operators()

        def has_run(node: ast.AST) -> bool:
            return any(number_of(one) in run.kinds for one in ast.walk(node))

        def may_be_tensor(node: ast.AST) -> bool:
            return any(TENSOR in kinds[one.id] or (one.id in inside and not kinds[one.id]) for one in _names_in([node]))

        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in edited:
                user = self._user_of(node)
                if number_of(user) not in run.kinds:
                    raise self._refusal(user, f"no recorded call has come here, so what `{node.id}` gets is not known")
            for value, targets in _bindings_in(node):
                becomes_tensor = any(TENSOR in kinds[one.id] for one in _names_in(targets))
                if not has_run(value) and (becomes_tensor or may_be_tensor(value)):
                    raise self._refusal(
                        value,
                        "no recorded call has run this, so it is not known whether it returns a tensor or an array",
                    )
            if isinstance(node, ast.IfExp | ast.BoolOp) and has_run(node):
                ways = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
                is_tensor = any(TENSOR in run.kinds.get(number_of(one), ()) for one in (node, *ways))
                if any(not has_run(one) and (is_tensor or may_be_tensor(one)) for one in ways):
                    raise self._refusal(
                        node,
                        "not all branches of this have run, so it is not known whether they return tensors or arrays",
                    )
        both = {name for name, found in kinds.items() if TENSOR in found and {ARRAY, SCALAR} & found}
        self._require_always(definition, both)

    def _functions_with_operators(self) -> set[str]:
        """Return the names of functions that compute by operators: what is changed there is right for what they got."""
        found: dict[str, ast.AST] = {one.name: one for one in ast.walk(self.source.tree) if isinstance(one, Function)}
        for node in ast.walk(self.source.tree):
            names = [one for value, targets in _bindings_in(node) if isinstance(value, ast.Lambda) for one in targets]
            found |= {one.id: node for one in _names_in(names)}
        return {name for name, one in found.items() if any(isinstance(each, OPERATORS) for each in ast.walk(one))}

    def _user_of(self, node: ast.Name) -> ast.AST:
        """Return the call of a function, or its name where that is used in another way."""
        calls = (one for one in self.nodes.values() if isinstance(one, ast.Call) and one.func is node)
        return next(calls, node)

    def _require_always(self, definition: ast.AST, names: set[str]) -> None:
        """Check that names that are tensors at first and arrays later, or the reverse, change so on every path."""
        every = [one for one in _names_in([definition]) if one.id in names]
        for node in ast.walk(definition):
            if not isinstance(node, ast.If | ast.While | ast.Try | ast.For):
                continue
            within = {*_names_in([node])}
            bound = [one for one in every if one in within and isinstance(one.ctx, ast.Store)]
            stays = isinstance(node, ast.For)  # in a loop that runs, each iteration binds it again
            bound = [one for one in bound if not stays or any(o.id == one.id and o not in within for o in every)]
            if bound:
                why = f"whether `{bound[0].id}` is a tensor or an array depends on whether this runs"
                raise self._refusal(bound[0], why)

    def _edit(self, node: ast.AST, definition: ast.AST, run: _Run, edits: _Edits, numpy: str) -> None:
        number = number_of(node)
        is_converted = self.convert(node, definition, edits)
        function = self.value_of(node.func, definition) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and not is_converted and conversions.is_of_tensorflow(function):
            raise self._refusal(node, f"`{ast.unparse(node.func)}` is a function of TensorFlow")
        if isinstance(node, OPERATORS) and number not in run.kinds and _is_local(node):
            raise self._refusal(node, "no recorded call has run this, so its dtypes are not known")
        if isinstance(node, ast.AugAssign) and TENSOR in run.kinds.get(number, ()):
            if ARRAY in run.kinds[number]:  # which changes in place, also under its other names
                raise self._refusal(node, "this is a tensor in one call and an array in another one")
            edits.assigned.add(number)
        if number in run.casts and {TENSOR} < run.kinds.get(number, set()) & {TENSOR, ARRAY, SCALAR}:
            raise self._refusal(node, "this is a tensor in one call and an array in another one")
        if number in run.casts:
            self._cast(node, run.casts[number], edits, numpy)
        self._edit_attribute(node, run, edits)

    def convert(self, node: ast.AST, definition: ast.AST, edits: _Edits) -> bool:
        """Have what stands for a conversion where there are arrays be in its place; return whether it is one.

        Raises:
            CannotPort: it needs NumPy, which has another name there.
        """
        instead = conversions.on_arrays(node, lambda one: self.value_of(one, definition), self.numpy_name)
        if instead is not None and not self.numpy_name:
            raise self._refusal(node, NO_NUMPY)
        if instead is not None and len(instead.parts) == 1:
            edits.replace(node, instead.text, instead.parts[0])
            return True
        return False

    def _cast(self, node: ast.AST, casts: set[tuple[str, int] | None], edits: _Edits, numpy: str) -> None:
        if casts == {None}:
            return
        names = {cast[0] if cast else "" for cast in casts}
        if len(names) > 1:
            raise self._refusal(node, "the other operand is a tensor in one call and an array in another one")
        dtype = "bool_" if names == {"bool"} else names.pop()
        if not numpy or not hasattr(np, dtype):
            raise self._refusal(node, f"NumPy has no {dtype}" if numpy else NO_NUMPY)
        is_number = {cast[1] for cast in casts if cast} == {0} and not isinstance(node, ast.List | ast.Tuple)
        text = f"{numpy}.{dtype}({{0}})" if is_number else f"{numpy}.asarray({{0}}, dtype={numpy}.{dtype})"
        edits.casts[number_of(node)] = text

    def _edit_attribute(self, node: ast.AST, run: _Run, edits: _Edits) -> None:
        """Replace attributes that only tensors have: `x.get_shape()`, `x.shape.as_list()`, `x.dtype.as_numpy_dtype`."""
        is_called = isinstance(node, ast.Call) and not node.args and not node.keywords
        attribute = node.func if is_called else node  # type: ignore[attr-defined]
        if not isinstance(attribute, ast.Attribute):
            return
        kind, text = TENSOR_ATTRIBUTES.get((attribute.attr, is_called), ("", ""))
        if kind and run.kinds.get(number_of(attribute.value)) == {kind}:
            edits.replace(node, text, attribute.value)

    def value_of(self, node: ast.AST, definition: ast.AST) -> Any:
        """Return what a name, or an attribute of one, is in the module; None for what is local."""
        if isinstance(node, ast.Name):
            inner = [one for one in ast.walk(definition) if isinstance(one, Function | ast.Lambda)]
            is_local = any(node.id in local_names(one) for one in inner)
            return None if is_local else self.scope.get(node.id, getattr(builtins, node.id, None))
        home = self.value_of(node.value, definition) if isinstance(node, ast.Attribute) else None
        return None if home is None else getattr(home, node.attr, None)  # type: ignore[attr-defined]

    def require_same(self, found: _Run, expected: _Run, edits: _Edits) -> None:
        """Check that each value is the same as before."""
        left = next((number for number, kinds in found.kinds.items() if TENSOR in kinds), None)
        if left is not None:
            raise self._refusal(self.nodes[left], "this is a tensor that was created outside of the body")
        before = [one for one in expected.values if one[0] not in edits.dropped]
        after = [one for one in found.values if one[0] not in edits.dropped]
        for (number, old), (other, new) in zip(before, after, strict=False):
            if (number, old) != (other, new):
                raise self._refusal(self.nodes[number], _difference(old, new))
        pairs = zip(found.outputs, expected.outputs, strict=True)
        if len(before) != len(after) or not all(len(a) == len(b) and all(map(is_same, a, b)) for a, b in pairs):
            raise self._refusal(self.definitions[-1], "with arrays, the body returns something else")

    def _refusal(self, node: Any, why: str) -> CannotPort:
        return CannotPort(f"the body mixes tensors with NumPy: {why}", fix=FIX, place=(self.source.path, node.lineno))

    def _place_of(self, error: BaseException) -> tuple[str, int]:
        place, trace = (self.source.path, self.definitions[-1].lineno), error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.source.path:
                place = (self.source.path, trace.tb_lineno)
            trace = trace.tb_next
        return place


TENSOR_ATTRIBUTES = {
    ("get_shape", True): (TENSOR, "{0}.shape"),
    ("as_list", True): (SHAPE, "list({0})"),
    ("rank", False): (SHAPE, "len({0})"),
    ("as_numpy_dtype", False): (DTYPE, "{0}"),
}
"""Attribute and whether it is called -> the kind that has it, and the expression for arrays."""


def _difference(old: Fingerprint, new: Fingerprint) -> str:
    names = [f"{one[1]} {list(one[2])}" if one[0] == "array" else one[0] for one in (old, new)]
    if names[0] != names[1]:
        return f"this is {names[0]} with tensors and {names[1]} with arrays"
    return "this has other values with arrays than with tensors"


def _watched_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement to record: no called functions, and nothing without a place in the text."""
    if isinstance(node, ast.JoinedStr | ast.Delete):
        return
    if isinstance(node, Function):
        for one in node.body:
            yield from _watched_in(one)
        return
    is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if isinstance(node, VALUES) and is_read:
        yield node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Call) and child is node.func:
            yield from (one for one in _watched_in(child) if one is not child)
        elif not (isinstance(node, ast.AnnAssign) and child is node.annotation):
            yield from _watched_in(child)


def _bindings_in(node: ast.AST) -> list[tuple[ast.expr, list[Any]]]:
    """Return the value that a node binds, and the targets."""
    value = getattr(node, "iter" if isinstance(node, ast.For | ast.comprehension) else "value", None)
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [(value, targets)] if value is not None and any(targets) else []


def _names_in(nodes: Sequence[ast.AST | None]) -> list[ast.Name]:
    return [one for node in nodes if node is not None for one in ast.walk(node) if isinstance(one, ast.Name)]


def _is_local(node: ast.AST) -> bool:
    """Is it an operator that is recorded, and has a name in it?"""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name)
    return any(isinstance(one, ast.Name) for one in ast.walk(node))
