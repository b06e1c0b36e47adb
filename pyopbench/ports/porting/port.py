"""From an own op and the name of a variant to the text of a port and of its test."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import tensorflow as tf

from pyopbench.model.files import real_path
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.portable import BATCHED, format_text
from pyopbench.model.syntax import Source, read_source
from pyopbench.ports.arrays import STRING, as_given, as_outputs, dtype_of, is_same
from pyopbench.ports.eager_body import without_conversions
from pyopbench.ports.extract.definitions import CannotExtract
from pyopbench.ports.extract.extraction import Extraction, extract
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting import batches
from pyopbench.ports.porting.body_code import lines_of_body
from pyopbench.ports.porting.check_file import Old, check_file
from pyopbench.ports.porting.facts import SEEDS, Facts, examples_of, facts_of, filled
from pyopbench.ports.porting.module_text import import_text, with_layer
from pyopbench.ports.porting.numba_text import DRAWN_ALIKE
from pyopbench.ports.porting.observe import definition_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.returned_writes import return_writes
from pyopbench.ports.porting.units import Units
from pyopbench.ports.porting.writers import WRITERS, Body, Made
from pyopbench.ports.rebinding import unwrap, with_body

OBSERVED_SIZES = 2

Frozen: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class PortModule:
    """A port as the text of a module, which is measured, shown in a report, and put in place by the command `port`."""

    text: str
    function: str
    """The name of the function of tensors in it."""
    not_run: tuple[tuple[str, int], ...]
    """Lines of the user's that no example went through: file and line."""
    notes: tuple[str, ...]
    """Kinds of notes, as in a `PortLine`."""
    dataset: str
    """The call of `Dataset.map` that goes with a batched form; empty for others."""
    facts: Facts
    frozen: Frozen
    """Statements of the user's whose values are written down in their place: file and name."""
    drawn: frozenset[str] | None = None
    """Functions of `numpy.random` that draw in it after a seed that it takes; None where it takes none."""


def write_port(op: Op, variant: str) -> PortModule:
    """Return the port of the NumPy body of an own op."""
    with refusals_of_user():
        _check(op, variant)
        yours, frozen = extracted_op(op, variant)
        require_same(op, yours)
        how = BATCHED.get(variant)
        if how:
            batches.require_fixed_shapes(yours)
        body = body_of(yours, unwrap(yours.numpy))
        facts, made = _made(yours, body, variant)
    keywords = () if how == "map" else body.keywords
    not_run = [place for place in map(place_of_user, made.not_run) if place is not None]
    text, notes = format_text(with_layer(made.text, facts.function)), made.notes
    if variant.startswith("traced"):  # a body itself is given arrays, whose sizes are known
        example = examples_of(op, 1, 1)[0]
        example = batches.stacked([example])[0] if how else example
        facts = replace(facts, known=_inputs_of_known_sizes(text, body.source, facts, keywords, example))
    if facts.known:
        text, notes = _with_sentence(text, facts), (f"known sizes: {_sizes_text(facts)}", *notes)
    prints = _prints(body.source)
    return PortModule(
        text=text,
        function=facts.function,
        not_run=tuple(sorted({*not_run})),
        notes=(*notes, f"prints: {', '.join(prints)}") if prints else notes,
        dataset=batches.dataset_call(facts, keywords) if how else "",
        facts=facts if made.has_gradient else replace(facts, differentiable=()),
        frozen=frozen,
        drawn=made.drawn,
    )


def _inputs_of_known_sizes(
    text: str, source: Source, facts: Facts, keywords: Sequence[str], example: Sequence[Any]
) -> tuple[str, ...]:
    """Return which inputs have to have sizes that are known where a port is traced, by running it.

    None if it takes all sizes unknown, or does not even take known ones, which its test will say; one if that alone is
    enough; else all that have sizes. The last inputs may be taken by name, as `keywords`.
    """
    port = getattr(import_text("of_unknown_sizes", text), facts.function)
    names = [name for name, _, _ in facts.inputs]
    tensors = [tf.constant(one) for one in example]

    def works(known: Collection[str]) -> bool:
        of_known = zip(names, tensors, strict=True)
        specs = [tf.TensorSpec(one.shape if name in known else [None] * one.ndim, one.dtype) for name, one in of_known]
        try:
            called(called(tf.function(port).get_concrete_function, specs), tensors)
        except NotImplementedError as error:
            if known == names and "raise NotImplementedError" in str(error):
                raise _refused_option(error, text, source) from error
            return False
        except Exception:  # noqa: BLE001 - a port may raise anything
            return False
        return True

    def called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        first = len(names) - len(keywords)
        return function(*arguments[:first], **dict(zip(names[first:], arguments[first:], strict=True)))

    if works([]) or not works(names):
        return ()
    sized = [name for name, one in zip(names, tensors, strict=True) if one.ndim]
    return next(((name,) for name in sized if len(sized) > 1 and works([name])), tuple(sized))


def _refused_option(error: NotImplementedError, text: str, source: Source) -> CannotPort:
    """Return the error about an option of NumPy's that the function on tensors in place of its own does not have."""
    # AutoGraph's message has the lines of the port, and the functions that they are of.
    frames = re.findall(r"line (\d+), in (\w+)", str(error))
    depth = next((depth for depth, (_, name) in enumerate(frames) if name.startswith(("np_", "scipy_"))), 0)
    line = lines_of_body(text, source).get(int(frames[depth - 1][0])) if depth else None
    what = [f"`{frames[depth][1].replace('_', '.', 1)}`"] if depth else []
    why = " ".join([*what, str(error).rpartition(f"{NotImplementedError.__name__}: ")[2].strip()])
    place = None if line is None else place_of_user((source.path, line))
    return CannotPort(why, fix="use numba_op, or keep the callback", place=place)


def _with_sentence(text: str, facts: Facts) -> str:
    """Return the text of a port whose docstring says which sizes have to be known."""
    what = f"The sizes of {_sizes_text(facts)} have to be known where it is traced, as in batches of a fixed size."
    said = textwrap.indent(filled(what), "    ")
    start = text.rindex(f"\ndef {facts.function}(")
    place = text.rindex("\n\n    Args:\n", start, text.index('"""\n', start))
    return f"{text[:place]}\n\n{said}{text[place:]}"


def _sizes_text(facts: Facts) -> str:
    """Return the names of the inputs whose sizes have to be known."""
    sized = [name for name, _, rank in facts.inputs if rank]
    return "all inputs" if 1 < len(sized) == len(facts.known) else f"`{facts.known[0]}`"


def _prints(source: Source) -> list[str]:
    """Return file and line of each `print` of a body and of what it calls."""
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    prints = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id == "print"]
    places = {place_of_user((source.path, one.lineno)) for one in prints}
    return [f"{Path(file).name}:{line}" for file, line in sorted(one for one in places if one is not None)]


@contextmanager
def refusals_of_user() -> Iterator[None]:
    """Have a refusal name the user's line, and not that of the module that their function was extracted to."""
    try:
        yield
    except CannotExtract as error:
        raise CannotPort(error.why, fix=error.fix, place=place_of_user(error.place)) from error
    except CannotPort as error:
        for one in (error, *error.others):
            one.place = place_of_user(one.place)
        raise


def extracted_op(op: Op, variant: str) -> tuple[Op, Frozen]:
    """Return an op whose body and gradient are in a self-contained module, and the values written into that.

    For a port to TensorFlow ops, its functions return the arrays that they write to.

    Raises:
        CannotExtract: they need what cannot be written down; with the user's line.
    """
    extracted, loaded, frozen = extract(partial(add_bodies, op))
    if not op.is_on_tensors:
        extracted, loaded = without_conversions(extracted, loaded)
    if variant.startswith("traced"):
        extracted, loaded = return_writes(extracted, loaded)
    bodies = [vars(loaded)[name] for name in extracted.names]
    found = replace(op, numpy=with_body(op.numpy, bodies[-1]))
    if op.numpy_gradient is not None:
        found = replace(found, numpy_gradient=with_body(op.numpy_gradient, bodies[0]))
    return found, frozenset(frozen)


def body_of(op: Op, function: Callable[..., Any]) -> Body:
    """Return the function that an op's body is written as, with what a port of it takes and returns."""
    source, definition = definition_of(function)
    keywords = op.own.keywords if op.own is not None else ()
    names = input_names(definition, keywords, len(examples_of(op, 1, 1)[0]))
    place = place_of_user((source.path, definition.lineno))
    facts = facts_of(op, definition.name, names, Path(place[0] if place is not None else source.path).name)
    return Body(source, definition, facts, keywords)


def require_same(op: Op, extracted: Op) -> None:
    """Check that the extracted body computes what the user's does: its port is compared with the extracted one."""
    example = examples_of(op, 1, 1)[0]
    body = (op.py_function if op.is_on_tensors else None) or op.numpy

    def outputs_of(body: Callable[..., Any]) -> tuple[Any, ...]:
        # Each call gets copies, because a body may write to its inputs.
        return as_outputs(body(*(map(tf.constant, example) if op.is_on_tensors else as_given(example))))

    # The functions around the body may seed it.
    expected, found = outputs_of(body), outputs_of(with_body(body, unwrap(extracted.numpy)))
    if len(found) != len(expected) or not all(map(is_same, found, expected)):
        raise CannotPort(
            "outside its file, the body computes something else",
            fix="pass all that it reads as arguments, or define it by plain statements at the top level of the file",
        )


def add_bodies(op: Op, extraction: Extraction) -> None:
    """Add the body of an op to what is extracted, and its gradient where it has one."""
    # What is found last stands first: the body, with what it needs, above the gradient.
    if op.numpy_gradient is not None:
        extraction.add(unwrap(op.numpy_gradient))
    extraction.add(unwrap(op.numpy), op.name if op.is_own else "", len(examples_of(op, 1, 1)[0]))


def write_test(op: Op, target: Target, variant: str, module: str, port: PortModule) -> str:
    """Return the text of the test of a port, whose module has a name; the target is that of the op."""
    with refusals_of_user():
        old, methods = original(op, target, port.frozen, is_of_one=variant in BATCHED), ["values"]
        if port.drawn is not None:
            old = replace(old, options={**old.options, "is_random": False})
            methods = ["seeded_values" if port.drawn <= DRAWN_ALIKE else "distribution", "draws"]
        methods += ["dataset_of_batches"] if variant in BATCHED else []
        methods += ["gradient"] if port.facts.differentiable else []
        return format_text(check_file(module, port.facts, old, methods))


def original(op: Op, target: Target, frozen: Frozen, *, is_of_one: bool) -> Old:
    """Return the function that something was written from, and its inputs, for a test that compares the two.

    With `is_of_one`, it takes an example, while the body that was written takes a batch.
    """
    inputs, own = Extraction(frozen), op.own
    if target.function:
        given = [_expression(one) for one in target.expressions]
        examples = f"[({', '.join(given)}{',' if len(given) == 1 else ''})]"
    else:
        home = _module_of(target)
        value = _inputs_of(read_source(str(home.__file__)))
        drawn = inputs.add_expression(vars(home), str(home.__file__), value)
    # The test has the user's own function, also where the port is written from one that takes arrays.
    add_bodies(op if op.py_function is None else replace(op, numpy=op.py_function), inputs)
    of_test = inputs.module()
    if not target.function:
        examples = _drawn(ast.unparse(drawn.node), value, op, is_list=isinstance(home.OP.inputs, list))
    options = {
        "keywords": own.keywords if own is not None else (),
        "is_of_batch": is_of_one,
        "takes_tensors": op.py_function is not None,
        "is_random": own is not None and own.is_random,
    }
    gradient = of_test.names[0] if op.numpy_gradient is not None else ""
    units, tolerance = Units(read_source(of_test.path)), op.tolerance[op.dtypes[0]]
    return Old(units, of_test.names[-1], examples, tolerance, gradient, options)


def _made(op: Op, body: Body, variant: str) -> tuple[Facts, Made]:
    """Return what a port takes and returns, and its text."""
    one, how = body.facts, BATCHED.get(variant)
    write = WRITERS[variant.removesuffix("_map")]
    examples = examples_of(op, OBSERVED_SIZES, 1)
    if how in ("whole", "loop"):
        facts = batches.of_batch(one, one.function)
        return facts, write(op, replace(body, facts=facts), batches.stacked(examples))
    made = write(op, replace(body, is_mapped=how == "map"), examples)
    if how != "map":
        return one, made
    facts = batches.of_batch(one, f"{one.function}_batch")
    return facts, replace(made, text=batches.mapped(made.text, one, facts, body.keywords))


def _check(op: Op, variant: str) -> None:
    code = getattr(unwrap(op.py_function or op.numpy), "__code__", None)
    place = None if code is None else (code.co_filename, code.co_firstlineno)
    if op.is_on_tensors:
        refused = op.own.refused if op.own is not None else None
        if refused is not None:
            raise CannotPort(refused.why, fix=refused.fix, place=refused.place)
        raise CannotPort(
            "the body of `tf.py_function` computes with TensorFlow on its tensors",
            fix="begin the body with `x = x.numpy()` for each of its tensors, and compute with NumPy",
            place=place,
        )
    if op.own is not None and op.own.is_random and variant != "numba_op":
        raise CannotPort("the body draws random numbers", fix="draw them outside, and pass them in")
    if STRING in op.outputs or STRING in map(dtype_of, examples_of(op, 1, 1)[0]):
        raise CannotPort("it works on text, so the callback stays", fix="keep the callback", place=place)


def input_names(definition: ast.FunctionDef | ast.AsyncFunctionDef, keywords: tuple[str, ...], count: int) -> list[str]:
    """Return the names of the inputs of a function that is called with so many, the last ones by name."""
    arguments = definition.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][: count - len(keywords)]
    if len(positional) + len(keywords) < count:
        raise CannotPort("the body takes any number of arguments", fix="name them", place=None)
    return [*positional, *keywords]


CHECKED_SIZES = 2


def _module_of(target: Target) -> ModuleType:
    """Return the module of an op's file, which is loaded."""
    if not target.is_file:
        return sys.modules[target.place]
    return next(one for one in list(sys.modules.values()) if getattr(one, "__file__", None) == target.place)


def _drawn(text: str, value: ast.expr, op: Op, *, is_list: bool) -> str:
    if op.own is not None and op.own.fixed_sizes:
        # How a list of examples is written does not matter: `INPUTS`, a comprehension, what a function returns.
        return text if is_list else f"[{text}]"
    sizes = ", ".join(map(str, op.quick_sizes[:CHECKED_SIZES]))
    called = text if isinstance(value, ast.Name | ast.Attribute) else f"({text})"
    comma = "," if len(op.quick_sizes[:CHECKED_SIZES]) == 1 else ""
    return f"[{called}(size, np.random.default_rng(seed)) for size in ({sizes}{comma}) for seed in range({SEEDS})]"


def _expression(text: str) -> str:
    """Return an input as a part of a tuple."""
    if text.endswith(".npy"):
        return f"np.load({str(real_path(text))!r})"  # the test is run in any folder
    return ast.unparse(ast.parse(text.strip(), mode="eval"))


def _inputs_of(source: Source) -> ast.expr:
    for statement in reversed(source.tree.body):
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
        if "OP" in names:
            named = [keyword.value for keyword in statement.value.keywords if keyword.arg == "inputs"]
            for value in (*named, *statement.value.args[:1]):
                return value
    raise CannotPort(
        "`OP = OwnOp(inputs=...)` is not written in the file, so the test has no inputs", place=(source.path, 1)
    )
