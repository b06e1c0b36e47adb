"""From an own op and the name of a variant to the text of a port, and of its test.

A test has a copy of the body that was ported or arranged, of `port_check`, and their arguments.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import read_key
from pyopbench.model.files import real_path
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.syntax import Source, read_source
from pyopbench.model.variant import BATCHED
from pyopbench.ports import port_check
from pyopbench.ports.arrays import STRING, as_array, as_given, as_outputs, as_tuple, dtype_of, is_same
from pyopbench.ports.eager_body import is_of_tensorflow, without_conversions
from pyopbench.ports.extract.definitions import CannotPort, require_computing
from pyopbench.ports.extract.extraction import Extraction, extract
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting.body_code import DRAWN_ALIKE, lines_of_body
from pyopbench.ports.porting.facts import SEEDS, Facts, docstring, examples_of, facts_of, filled
from pyopbench.ports.porting.module_text import (
    LAYER,
    Code,
    Units,
    copied_module,
    format_text,
    import_text,
    module_text,
    require_free,
)
from pyopbench.ports.porting.observe import definition_of
from pyopbench.ports.porting.returned_writes import return_writes
from pyopbench.ports.porting.writers import LEADING, WRITERS, Body, PortModule
from pyopbench.ports.rebinding import unwrap, with_body

BATCH = 32
"""Examples in a batch of the call that is shown."""

PORT, CHECK = "module_of_port", "check"
"""Names in a test of the module of the port, and of the `PortCheck`."""

CHECKED_SIZES = 2


def write_port(op: Op, variant: str) -> PortModule:
    """Return the port of the NumPy body of an own op."""
    with refusals_of_user():
        _check(op, variant)
        yours, frozen = extracted_op(op, variant)
        require_same(op, yours)
        how = BATCHED.get(variant)
        if how:
            require_fixed_shapes(yours)
        body = body_of(yours, unwrap(yours.numpy))
        made = _made(yours, body, variant)
    keywords = () if how == "map" else body.keywords
    not_run = {place for place in map(place_of_user, made.not_run) if place is not None}
    text, facts, notes = format_text(made.text), made.facts, made.notes
    if variant.startswith("traced"):  # a body itself is given arrays, whose sizes are known
        (example,) = _stacked(examples_of(op, 1, 1)) if how else examples_of(op, 1, 1)
        if _needs_sizes(text, body.source, facts, keywords, example):
            facts, notes = replace(facts, needs_sizes=True), ("known sizes: all inputs", *notes)
            text = _with_sentence(text, facts.function)
    if prints := _prints(body.source):
        notes = (*notes, f"prints: {', '.join(prints)}")
    dataset = _dataset_call(facts, keywords) if how else ""
    return replace(
        made, text=text, facts=facts, not_run=tuple(sorted(not_run)), notes=notes, dataset=dataset, frozen=frozen
    )


def _needs_sizes(text: str, source: Source, facts: Facts, keywords: Sequence[str], example: Sequence[Any]) -> bool:
    """Do the sizes of inputs have to be known where a port is traced? The last inputs may go by name, as `keywords`.

    Also False if the port fails with known ones, which its test will report.
    """
    port = getattr(import_text("of_unknown_sizes", text), facts.function)
    names = [name for name, _, _ in facts.inputs]
    tensors = [tf.constant(one) for one in example]

    def works(*, is_known: bool) -> bool:
        specs = [tf.TensorSpec(one.shape if is_known else [None] * one.ndim, one.dtype) for one in tensors]
        try:
            called(called(tf.function(port).get_concrete_function, specs), tensors)
        except NotImplementedError as error:
            if is_known and "raise NotImplementedError" in str(error):
                raise _refused_option(error, text, source) from error
            return False
        except Exception:  # noqa: BLE001 - a port may raise anything
            return False
        return True

    def called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        first = len(names) - len(keywords)
        return function(*arguments[:first], **dict(zip(names[first:], arguments[first:], strict=True)))

    return not works(is_known=False) and works(is_known=True)


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


def _with_sentence(text: str, function: str) -> str:
    """Return the text of a port whose docstring says that sizes have to be known."""
    said = filled("The sizes of all inputs have to be known where it is traced, as in batches of a fixed size.")
    start = text.rindex(f"\ndef {function}(")
    place = text.rindex("\n\n    Args:\n", start, text.index('"""\n', start))
    return f"{text[:place]}\n\n{textwrap.indent(said, '    ')}{text[place:]}"


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
    except CannotPort as error:
        error.place = place_of_user(error.place)
        raise


def extracted_op(op: Op, variant: str) -> tuple[Op, frozenset[tuple[str, str]]]:
    """Return an op whose body and gradient are in a self-contained module, and the values written into that.

    For a port to TensorFlow ops, its functions return the arrays that they write to.

    Raises:
        CannotPort: they need a value that cannot be written; names the user's line.
    """
    extracted, loaded, frozen = extract(partial(add_bodies, op))
    if not op.is_on_tensors and any(map(is_of_tensorflow, vars(loaded).values())):
        extracted, loaded = without_conversions(extracted, loaded)
    if variant.startswith("traced"):
        require_computing(read_source(extracted.path))
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
    arguments, count = definition.args, len(examples_of(op, 1, 1)[0])
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][: count - len(keywords)]
    names = [*positional, *keywords]
    if len(names) < count:
        raise CannotPort("the body takes any number of arguments", fix="name them")
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


def _made(op: Op, body: Body, variant: str) -> PortModule:
    """Return what a port takes and returns, and its text."""
    one, how = body.facts, BATCHED.get(variant)
    write = WRITERS[variant.removesuffix("_map")]
    examples = examples_of(op, seeds=1)
    if how is None:
        return write(op, body, examples)
    facts = _of_batch(one, one.function if how != "map" else f"{one.function}_batch")
    if how != "map":
        return write(op, replace(body, facts=facts), _stacked(examples))
    made = write(op, replace(body, is_mapped=True), examples)
    return replace(made, text=_mapped(made.text, one, facts, body.keywords), facts=facts)


def _check(op: Op, variant: str) -> None:
    code = getattr(unwrap(op.py_function or op.numpy), "__code__", None)
    place = None if code is None else (code.co_filename, code.co_firstlineno)
    if op.is_on_tensors:
        if op.own is not None and op.own.refused is not None:
            raise op.own.refused
        raise CannotPort(
            "the body of `tf.py_function` computes with TensorFlow on its tensors",
            fix="begin the body with `x = x.numpy()` for each of its tensors, and compute with NumPy",
            place=place,
        )
    if op.own is not None and op.own.is_random and variant != "numba_op":
        raise CannotPort("the body draws random numbers", fix="draw them outside, and pass them in")
    if STRING in op.outputs or STRING in map(dtype_of, examples_of(op, 1, 1)[0]):
        raise CannotPort("it works on text, so the callback stays", fix="keep the callback", place=place)


# Ports of a batch of examples.


def require_fixed_shapes(op: Op) -> None:
    """Check that examples of one shape have outputs of one shape."""
    shapes: dict[Any, Any] = {}
    for example in examples_of(op, 1):
        found = [as_array(one).shape for one in as_tuple(op.numpy(*as_given(example)))]
        if shapes.setdefault(str([one.shape for one in example]), found) != found:
            raise CannotPort(
                "an output has a different length for each example, so a batch of them is not a tensor",
                fix="give it a fixed length",
            )


def _stacked(examples: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return batches of two, each of an example twice."""
    return [tuple(np.stack([one, one]) for one in example) for example in examples]


def _of_batch(facts: Facts, function: str) -> Facts:
    """Return the facts of a port that takes a batch and has this name, from those of its body for one example."""
    inputs = tuple((name, dtype, rank + 1) for name, dtype, rank in facts.inputs)
    outputs = tuple((dtype, (None, *(None for _ in shape))) for dtype, shape in facts.outputs)
    return replace(facts, function=function, inputs=inputs, outputs=outputs)


def _mapped(text: str, facts: Facts, batch: Facts, keywords: Sequence[str]) -> str:
    """Return the module of a port with a function added that maps it over a batch."""
    names = [name for name, _, _ in facts.inputs]
    rows = ", ".join([*names[: len(names) - len(keywords)], *(f"{name}={name}" for name in keywords)])
    return f"""{text}

@{LAYER}
def {batch.function}({", ".join(names)}):
    {docstring(f"`{facts.function}` of each example of a batch.", batch, f"{LEADING}.", [])}

    def of_one({", ".join(names)}):
        return {facts.function}({rows})

    arguments = ({", ".join(names)}{"," if len(names) == 1 else ""})
    # A loop in its place, which TensorFlow falls back to by itself, is slower than a callback.
    return tf.vectorized_map(lambda row: of_one(*row), arguments, fallback_to_while_loop=False)
"""


def _dataset_call(facts: Facts, keywords: Sequence[str]) -> str:
    """Return the call of `Dataset.map` that goes with a port of a batch."""
    names = [name for name, _, _ in facts.inputs]
    function = facts.function
    if keywords:
        given = ", ".join([*names[: len(names) - len(keywords)], *(f"{name}={name}" for name in keywords)])
        function = f"lambda {', '.join(names)}: {facts.function}({given})"
    return f"dataset.batch({BATCH}, drop_remainder=True).map({function}, num_parallel_calls=tf.data.AUTOTUNE)"


# Tests.


@refusals_of_user()
def write_test(op: Op, target: Target, variant: str, module: str, port: PortModule) -> str:
    """Return the text of a test.

    Args:
        op: whose body was ported or arranged.
        target: what names the op on a command line.
        variant: that of the port, or the key of the arrangement.
        module: the name of the module that it is in.
        port: what was written.

    Raises:
        CannotPort: the user's code has a name that a test needs, or imports a module that the port would hide.
    """
    key, own, facts = read_key(variant), op.own, port.facts
    options = {
        "keywords": own.keywords if own is not None else (),
        "is_of_batch": variant in BATCHED or (key is not None and key.batch > 0),
        "takes_tensors": op.py_function is not None,
        "needs_sizes": facts.needs_sizes,
        "is_random": own is not None and own.is_random and port.drawn is None,
    }
    methods = ["values"]
    if key is not None:
        methods = ["in_a_dataset"]
    elif port.drawn is not None:
        methods = ["seeded_values" if port.drawn <= DRAWN_ALIKE else "distribution", "draws"]
    methods += ["dataset_of_batches"] if variant in BATCHED else []
    if key is None and facts.differentiable:  # no gradient flows through a dataset
        methods.append("gradient")
        options |= {"differentiable": list(facts.differentiable), "floating": list(facts.floating)}
    else:
        op = replace(op, numpy_gradient=None)

    units, names, examples = _original(op, target, port)
    imports, copied, bound = copied_module(Path(port_check.__file__))
    if module in {one.split()[1].partition(".")[0] for one in units.imports.values()}:
        raise CannotPort(f"your function imports `{module}`, which the port would hide", fix="choose another --out")
    of_tests = {name for name in units.by_name if name.startswith("test_")}  # they would be run as tests
    require_free(units, {*bound, PORT, CHECK, *of_tests}, imports)
    given = [f"{PORT}.{port.function}", names[-1], f"lambda rng: {examples}", repr(op.tolerance[op.dtypes[0]])]
    given += [f"{name}={value!r}" for name, value in options.items() if value]
    given += [f"body_gradient={names[0]}"] if op.numpy_gradient is not None else []
    statements = [*Code(units).write_units().values(), copied, f"{CHECK} = PortCheck({', '.join(given)})"]
    checks = [one for one in ast.walk(ast.parse(copied)) if isinstance(one, ast.FunctionDef)]
    says = {one.name: ast.get_docstring(one) for one in checks}
    tests = {f"test_{method.removeprefix('seeded_')}": method for method in methods}
    statements += [f'def {name}():\n    """{says[one]}"""\n    {CHECK}.{one}()' for name, one in tests.items()]
    calls = "".join(f"    {name}()\n" for name in tests)
    statements.append(f'if __name__ == "__main__":\n{calls}    print("passed: {", ".join(tests)}")')
    each = " for each example" if options["is_of_batch"] else ""
    docstring = f"""Checks a port against the body that it replaces.

`{module}.{port.function}` has to do what `{names[-1]}` of {facts.file}
does{each}, of which this file has a copy.
"""
    return format_text(module_text(docstring, statements, units, [f"import {module} as {PORT}"], imports))


def _original(op: Op, target: Target, port: PortModule) -> tuple[Units, tuple[str, ...], str]:
    """Return the user's functions, the names of gradient and body, and a list of tuples of arguments as source."""
    extraction = Extraction(port.frozen)
    if not target.function:
        key = "__file__" if target.is_file else "__name__"
        home = next(one for one in list(sys.modules.values()) if getattr(one, key, None) == target.place)
        value = _inputs_of(read_source(str(home.__file__)))
        drawn = extraction.add_expression(vars(home), str(home.__file__), value)
    # The test has the user's own function, also where the port is written from one that takes arrays.
    add_bodies(op if op.py_function is None else replace(op, numpy=op.py_function), extraction)
    of_test = extraction.module()
    if not target.function:
        examples = _drawn(ast.unparse(drawn.node), value, op, is_list=isinstance(home.OP.inputs, list))
    else:
        examples = f"[({''.join(f'{_expression(one)}, ' for one in target.expressions)})]"
    return Units(read_source(of_test.path)), tuple(of_test.names), examples


def _drawn(text: str, value: ast.expr, op: Op, *, is_list: bool) -> str:
    if op.own is not None and op.own.fixed_sizes:
        # How a list of examples is written does not matter: `INPUTS`, a comprehension, what a function returns.
        return text if is_list else f"[{text}]"
    sizes = ", ".join(map(str, op.quick_sizes[:CHECKED_SIZES]))
    called = text if isinstance(value, ast.Name | ast.Attribute) else f"({text})"
    return f"[{called}(size, np.random.default_rng(seed)) for size in [{sizes}] for seed in range({SEEDS})]"


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
