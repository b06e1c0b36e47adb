"""The test beside a port: it holds the port against the body that it replaces, of which it has a copy."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count

from pyopbench.model.syntax import every_name
from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting.facts import Facts
from pyopbench.ports.porting.module_text import module_text
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.render import Code
from pyopbench.ports.porting.units import Units

CLOSE = '''
def assert_same(found, expected):
    """Assert that an array has the values of another one, and its dtype and shape."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if not expected.dtype.name.startswith(("float", "bfloat", "complex")):
        np.testing.assert_array_equal(found, expected)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = finite.max() if finite.size else 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * (scale or 1))
'''
ALIKE = '''
def assert_same(found, expected):
    """Assert that an array has the dtype and shape of another one: the values are random."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
'''
EXPRESSION, OLD, OLD_GRADIENT = "inputs_of_yours", "body_of_yours", "gradient_of_yours"
"""Placeholders for the user's code in the statements of a test, whose own names are chosen apart from it."""

MODULE = "module_of_port"
"""The name of the module of the port, where its own is taken."""

AS_TUPLE = '''
def as_tuple(outputs):
    """Return one output or several as a tuple."""
    return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)
'''


OF_TEXT = '''
def as_array(value):
    """Return a value as an array, text as `bytes` of UTF-8 in an array of objects, as TensorFlow has it."""
    array = np.asarray(value, object) if isinstance(value, (str, bytes)) else np.asarray(value)
    if array.dtype.kind not in "SUO":
        return array
    encoded = [one.encode() if isinstance(one, str) else one for one in array.ravel().tolist()]
    return np.array([*encoded, None], object)[:-1].reshape(array.shape)


def as_given(value):
    """Return a copy of an argument; what has no axis is a number or a text, as it is in a graph."""
    return value if isinstance(value, (str, bytes, list, tuple)) else np.array(value)[()]
'''


def _is_of_text(facts: Facts) -> bool:
    return STRING in {dtype for _, dtype, _ in facts.inputs} | {dtype for dtype, _ in facts.outputs}


@dataclass(frozen=True)
class Inputs:
    """Where the inputs of a test come from, as source.

    Attributes:
        expression: a list of tuples of arguments.
        keywords: names of the last ones, where they are given by name.
        is_fixed: are there no others than these?
    """

    expression: str
    keywords: tuple[str, ...] = ()
    is_fixed: bool = False


@dataclass(frozen=True)
class Old:
    """What a port is held against.

    Attributes:
        units: the old body and what it needs, the gradient, and what draws the inputs.
        tolerance: largest error, relative to the largest magnitude.
        gradient: the name of the old gradient; empty where there is none, and differences are taken.
        function: the name of the old body.
        is_of_one: does it take one example, where the port takes a batch?
        is_on_tensors: does it take eager tensors, as `tf.py_function` gives them?
        is_random: does it draw random numbers, so that only dtypes and shapes can be the same?
        is_seeded: does the port take a seed, from which it draws the same numbers?
        is_alike: are the numbers that the port draws after a seed the same, and not only distributed alike?
    """

    units: Units
    tolerance: float
    gradient: str
    function: str
    is_of_one: bool = False
    is_on_tensors: bool = False
    is_random: bool = False
    is_seeded: bool = False
    is_alike: bool = True


def check_file(module: str, facts: Facts, old: Old, inputs: Inputs, *, arranged: bool = False) -> str:
    """Return the text of a test.

    Args:
        module: the name of the module that the port is in.
        facts: what the port takes and returns.
        old: what it is held against.
        inputs: on which it is checked.
        arranged: is it of an arrangement, which is not a function of tensors, but takes and returns a dataset?
    """
    units, code = old.units, Code(old.units)
    _require_free(module, units)
    name, module = module, MODULE
    gradient = OLD_GRADIENT if old.gradient else ""
    statements = [
        f"TOLERANCE = {old.tolerance!r}",
        ALIKE if old.is_random and not old.is_seeded else CLOSE,
        AS_TUPLE,
        _examples(inputs, old),
        _call(old, facts, inputs),
    ]
    if _is_of_text(facts):
        statements.insert(3, OF_TEXT)
    given = _given(facts, inputs, "tensors")
    if arranged:
        statements.append(_arranged(module, facts))
    elif old.is_seeded:
        statements += [_seeded_old(), *_seeded(module, facts, given, _given(facts, inputs, "specs"), old)]
    else:
        statements.append(_values(module, facts, given, "" if facts.known else _given(facts, inputs, "specs")))
    if old.is_of_one and not arranged:
        statements.append(_batch_in_dataset(f"{module}.{facts.function}({given})"))
    if facts.differentiable and not arranged:
        statements.append(_gradient_of(module, facts, given))
        if gradient and old.is_of_one:
            statements.append(_batch_gradient(gradient))
            gradient = BATCH_GRADIENT
        statements += [_against_gradient(facts, gradient) if gradient else _against_differences(facts)]
    taken = units.by_name.keys() | units.imports.keys()
    tree = ast.parse("\n".join(statements))
    functions = [one.name for one in tree.body if isinstance(one, ast.FunctionDef)]
    own = {"TOLERANCE", *functions}
    local = every_name(tree)
    is_taken = name in taken | own | local | vars(builtins).keys()
    module = (_other_name(MODULE, taken) if MODULE in taken else MODULE) if is_taken else name
    others = {one: _other_name(one, taken | own) for one in own & taken}
    yours = {EXPRESSION: inputs.expression, OLD: old.function, OLD_GRADIENT: old.gradient, MODULE: module}
    statements = [_with_names(one, {**others, **yours}) for one in statements]
    statements = [*code.write_units(units).values(), *statements, _run_by_itself(functions)]
    each = " for each example" if old.is_of_one else ""
    says = f"""Checks a port against the body that it replaces.

`{name}.{facts.function}` has to do what `{old.function}` of {facts.file}
does{each}, of which this file has a copy.
"""
    return module_text(says, statements, units, [f"import {name}{'' if name == module else f' as {module}'}"])


def _other_name(name: str, taken: Set[str]) -> str:
    """Return a name in place of one; that of a test has to begin as it does."""
    return next(other for number in count(1) if (other := f"{name}_{number}") not in taken)


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """Return code with other words in place of names, but not of attributes and keywords."""
    places = [
        (node.lineno, node.col_offset, node.id) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)
    ]
    definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    places += [(node.lineno, len("def "), node.name) for node in definitions]
    lines = text.encode().splitlines(keepends=True)  # in which the tree counts columns
    for row, column, name in sorted(places, reverse=True):
        if name in names:
            line, end = lines[row - 1], column + len(name.encode())
            lines[row - 1] = line[:column] + names[name].encode() + line[end:]
    return b"".join(lines).decode()


def _require_free(module: str, units: Units) -> None:
    """Check that a test can hold the user's code.

    Raises:
        CannotPort: a name of theirs is that of a test, or they import a module that the port would hide.
    """
    taken = [name for name in units.by_name if name.startswith("test_")]
    if taken:
        raise CannotPort(f"`{min(taken)}` would be run as a test in the port's test", fix="give it another name")
    if module in {one.module.partition(".")[0] for one in units.imports.values()}:
        raise CannotPort(f"your function imports `{module}`, which the port would hide", fix="choose another --out")


def _examples(inputs: Inputs, old: Old) -> str:
    rng = "    rng = np.random.default_rng(0)\n" if "rng" in _names(inputs.expression) else ""
    if old.is_of_one:
        return _batch_examples(EXPRESSION, rng, is_fixed=inputs.is_fixed)
    return f'''
def examples():
    """Return the arguments of several calls."""
{rng}    return {EXPRESSION}
'''


def _names(expression: str) -> set[str]:
    tree = ast.parse(expression, mode="eval")
    bound = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    bound |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    return every_name(tree) - bound


def _call(old: Old, facts: Facts, inputs: Inputs) -> str:
    copy = "tf.constant(np.asarray(one))" if old.is_on_tensors else "np.array(one)[()]"
    if old.is_of_one:
        return _batch_old(OLD, _given(facts, inputs, "row"), copy)
    copy = copy if old.is_on_tensors else f"one if isinstance(one, (list, tuple)) else {copy}"
    array = "np.asarray"
    if _is_of_text(facts):
        copy, array = "tf.constant(as_array(one))" if old.is_on_tensors else "as_given(one)", "as_array"
    return f'''
def old(arguments):
    """Return what the old body returns, as arrays."""
    copies = [{copy} for one in arguments]
    return tuple({array}(one) for one in as_tuple({OLD}({_given(facts, inputs, "copies")})))
'''


def _given(facts: Facts, inputs: Inputs, name: str) -> str:
    """Return the arguments of a call, of a list of that name, the last ones by name."""
    first = len(facts.inputs) - len(inputs.keywords)
    named = "".join(f", {one}={name}[{first + place}]" for place, one in enumerate(inputs.keywords))
    return f"*{name}[:{first}]{named}" if inputs.keywords else f"*{name}"


def _values(module: str, facts: Facts, given: str, of_unknown: str) -> str:
    """Return the test of values.

    Args:
        module: the name of that of the port.
        facts: what the port takes and returns.
        given: the arguments of a call, of a list `tensors`.
        of_unknown: those of its trace for inputs of unknown sizes, of a list `specs`; empty if it takes none.
    """
    specs = """        specs = [tf.TensorSpec([None] * one.ndim, one.dtype) for one in tensors]
"""
    said = ", whose sizes may be unknown" if of_unknown else ""
    also = f", in_graph.get_concrete_function({of_unknown})" if of_unknown else ""
    return f'''
def test_values():
    """The port returns what the old body does, called as it is and in a graph{said}."""
    in_graph = tf.function({module}.{facts.function})
    for arguments in examples():
        arrays = [{"as_array" if _is_of_text(facts) else "np.asarray"}(one) for one in arguments]
        tensors = [tf.constant(one.copy()) for one in arrays]  # of memory of its own
{specs if also else ""}        expected = old(arguments)
        for port in ({module}.{facts.function}, in_graph{also}):
            found = as_tuple(port({given}))
            assert len(found) == len(expected)
            for one, other in zip(found, expected):
                assert_same(one, other)
            for one, other in zip(tensors, arrays):
                np.testing.assert_array_equal(one, other, "the port has written to its arguments")
'''


def _seeded_old() -> str:
    return '''
def drawn(arguments, seed):
    """Return what the old body returns after NumPy's generator was seeded."""
    np.random.seed(seed)
    return old(arguments)
'''


def _seeded(module: str, facts: Facts, given: str, of_unknown: str, old: Old) -> Iterator[str]:
    """Yield the tests of a port that takes a seed; arguments as of `_values`."""
    call = f"{module}.{facts.function}"
    if old.is_alike:
        yield f'''
def test_values():
    """With the same seed, the port returns what the old body does, called as it is and in a graph of unknown sizes."""
    in_graph = tf.function({call})
    for arguments in examples():
        arrays = [np.asarray(one) for one in arguments]
        tensors = [tf.constant(one.copy()) for one in arrays]  # of memory of its own
        specs = [tf.TensorSpec([None] * one.ndim, one.dtype) for one in tensors]
        of_unknown = in_graph.get_concrete_function({of_unknown}, seed=tf.TensorSpec([], tf.int32))
        for seed in range({CHECKED_SEEDS}):
            expected = drawn(arguments, seed)
            for port in ({call}, in_graph, of_unknown):
                found = as_tuple(port({given}, seed=tf.constant(seed)))
                assert len(found) == len(expected)
                for one, other in zip(found, expected):
                    assert_same(one, other)
        for one, other in zip(tensors, arrays):
            np.testing.assert_array_equal(one, other, "the port has written to its arguments")
'''
    else:
        yield f'''
def test_distribution():
    """The port draws other numbers than the old body: their means and quantiles are compared, over many draws."""
    in_graph = tf.function({call})
    for arguments in examples()[:{CHECKED_DISTRIBUTIONS}]:
        tensors = [tf.constant(np.array(one)) for one in arguments]
        found = [as_tuple(in_graph({given}, seed=tf.constant(seed))) for seed in range({CHECKED_DRAWS})]
        expected = [drawn(arguments, seed) for seed in range({CHECKED_DRAWS})]
        for one, other in zip(found, expected):
            assert [part.dtype for part in map(np.asarray, one)] == [part.dtype for part in other]
        for place in range(len(expected[0])):
            for number in (np.size, np.mean, lambda array: np.ravel(array)[-1]):
                both = [[float(number(np.asarray(one[place]))) for one in several] for several in (found, expected)]
                points = np.sort(np.concatenate(both))
                one, other = (np.searchsorted(np.sort(many), points, "right") / len(many) for many in both)
                # As far apart as this by chance: once in a million times.
                assert np.abs(one - other).max() < 2.7 * np.sqrt(2 / {CHECKED_DRAWS})
'''
    yield f'''
def test_draws():
    """Each call draws anew, also in a graph, and the same again after `tf.random.set_seed`."""
    for arguments in examples():
        tensors = [tf.constant(np.array(one)) for one in arguments]
        many = [drawn(arguments, seed) for seed in range({CHECKED_SEEDS})]
        differ = not all(np.array_equal(one, other) for one, other in zip(many[0], many[1]))
        for wrapped in (lambda port: port, tf.function):
            runs = []
            for _ in range(2):
                tf.random.set_seed(1)
                port = wrapped({call})
                runs.append([as_tuple(port({given})) for _ in range({CHECKED_SEEDS})])
            for one, other in zip(*runs):
                assert all(np.array_equal(*pair) for pair in zip(one, other))
            if differ:
                first, *others = runs[0]
                assert any(not np.array_equal(one, of_first) for other in others for one, of_first in zip(other, first))
'''


CHECKED_SEEDS, CHECKED_DISTRIBUTIONS, CHECKED_DRAWS = 10, 2, 2000
"""Seeds with which values are compared; examples whose draws are, and how many of each."""


def _arranged(module: str, facts: Facts) -> str:
    return f'''
def test_in_a_dataset():
    """The arrangement returns what the old body returns, in order, and passes on the other components."""
    for arguments in examples():
        arrays = [tf.constant({"as_array" if _is_of_text(facts) else "np.asarray"}(one)) for one in arguments]
        numbered = tf.data.Dataset.range({ARRANGED_ELEMENTS})
        dataset = {module}.arrange(numbered.map(lambda number: (*arrays, number)))
        expected, places = old(arguments), 0
        for place, (*found, number) in enumerate(dataset):
            assert np.all(number == place)
            assert len(found) == len(expected)
            for one, other in zip(found, expected):
                assert_same(one, other)
            places += 1
        assert places == {ARRANGED_ELEMENTS}


def test_elements_of_any_structure():
    """`take` and `put` say where the inputs are in elements such as dicts."""
    arguments = examples()[0]
    arrays = [tf.constant({"as_array" if _is_of_text(facts) else "np.asarray"}(one)) for one in arguments]
    dataset = tf.data.Dataset.from_tensors({{"inputs": tuple(arrays), "label": 7}})
    arranged = {module}.arrange(
        dataset,
        take=lambda element: element["inputs"],
        put=lambda outputs, element: {{"outputs": tuple(outputs), "label": element["label"]}},
    )
    (element,) = arranged
    assert element["label"] == 7
    for one, other in zip(element["outputs"], old(arguments)):
        assert_same(one, other)
'''


ARRANGED_ELEMENTS = 5
"""More than one call of each process of a pool."""


def _gradient_of(module: str, facts: Facts, given: str) -> str:
    return f'''
def gradient_of_port(arguments, output_gradients):
    """Return the gradient that TensorFlow has of the port, by each input that has one."""
    tensors = [tf.constant(np.array(one)) for one in arguments]
    watched = [tensors[place] for place in {list(facts.differentiable)}]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = as_tuple(tf.function({module}.{facts.function})({given}))
    floating = [outputs[place] for place in {list(facts.floating)}]
    given = [tf.constant(one.copy()) for one in output_gradients]
    found = tape.gradient(floating, watched, given, unconnected_gradients="zero")
    for one, other in zip([*tensors, *given], [*arguments, *output_gradients]):
        np.testing.assert_array_equal(one, other, "the gradient has written to its arguments")
    return [tf.convert_to_tensor(one).numpy() for one in found]


def draw(expected, rng):
    """Return a gradient for each floating output."""
    outputs = [expected[place] for place in {list(facts.floating)}]
    return [np.asarray(rng.uniform(0.5, 1.5, one.shape), one.dtype) for one in outputs]
'''


def _against_gradient(facts: Facts, gradient: str) -> str:
    return f'''
def test_gradient():
    """The gradient of the port is the old one."""
    for arguments in examples():
        arrays = [np.asarray(one) for one in arguments]
        outputs = old(arguments)
        output_gradients = draw(outputs, np.random.default_rng(1))
        found = gradient_of_port(arguments, output_gradients)
        expected = as_tuple({gradient}(arrays, outputs, output_gradients))
        if len(expected) == len(arrays):
            expected = [expected[place] for place in {list(facts.differentiable)}]
        for one, other in zip(found, expected):
            assert_same(one, other)
'''


def _against_differences(facts: Facts) -> str:
    return f'''
def old_beside(arrays, directions, step):
    """Return the old outputs a step before the inputs, and a step behind them."""
    below, above = list(arrays), list(arrays)
    for place, direction in directions.items():
        below[place] = np.asarray(arrays[place] - step * direction, arrays[place].dtype)
        above[place] = np.asarray(arrays[place] + step * direction, arrays[place].dtype)
    return old(below), old(above)


def without_jumps(arrays, directions, output_gradients, step, precision):
    """Return gradients that are 0 where an output jumps at these very inputs, as at a label that is exactly 0."""
    middle = old(arrays)
    wide, narrow = [], []
    for gaps, size in ((wide, step), (narrow, step / 8)):
        before, after = old_beside(arrays, directions, size)
        for place in {list(facts.floating)}:
            ends = np.float64(before[place]), np.float64(after[place])
            gaps.append((np.abs((ends[0] + ends[1]) / 2 - np.float64(middle[place])), np.abs(ends[1] - ends[0])))
    kept = []
    for place, (far, _), (near, change), given in zip({list(facts.floating)}, wide, narrow, output_gradients):
        # Next to a kink the gap shrinks with the step; a jump stays, and is half of the change. What rounding leaves
        # is less of it, however large the numbers are that a body subtracts from each other.
        is_jump = (near > far / 2) & (near > 100 * precision * (1 + np.abs(np.float64(middle[place]))))
        kept.append(np.where(is_jump & (near > change / 10), 0, given).astype(given.dtype))
    return kept


def slopes_of_old(arrays, directions, output_gradients, step):
    """Return by how much the old outputs change along directions, each by how much, and how large they are."""
    before, after = old_beside(arrays, directions, step)
    slope, changes, size = 0.0, 0.0, 0.0
    for place, given in zip({list(facts.floating)}, output_gradients):
        change = (np.float64(after[place]) - np.float64(before[place])) / (2 * step)
        slope += np.sum(change * given)
        changes += np.sum(np.abs(change * given))
        size += np.sqrt(np.sum(np.square(np.float64(before[place]))))
    return slope, changes, size


def widened(arrays, outputs):
    """Return the arguments in float64 where the old body takes them so, and makes the same of them."""
    wide = [one.astype(np.float64) if one.dtype in (np.float16, np.float32) else one for one in arrays]
    try:
        found = old(wide)
    except Exception:  # noqa: BLE001 - it may take no float64
        return arrays
    same = all(
        one.shape == other.shape and np.allclose(one, other, rtol=1e-2, atol=1e-2, equal_nan=True)
        for one, other in zip(found, outputs)
    )
    return wide if same else arrays


def test_gradient():
    """The gradient of the port is the slope of the old body, along a direction that is drawn."""
    for arguments in examples():
        rng = np.random.default_rng(1)
        arrays = [np.array(one) for one in arguments]
        outputs = old(arrays)
        output_gradients = draw(outputs, rng)
        arrays = widened(arrays, outputs)
        # As large a step as rounding asks for: https://en.wikipedia.org/wiki/Numerical_differentiation#Step_size
        precision = max(np.finfo(old(arrays)[place].dtype).eps for place in {list(facts.floating)})
        step = precision ** (1 / 3)
        directions = {{place: rng.normal(size=arrays[place].shape) for place in {list(facts.differentiable)}}}
        output_gradients = without_jumps(arrays, directions, output_gradients, step, precision)
        gradients = dict(zip(directions, gradient_of_port(arguments, output_gradients)))
        slope = sum(np.sum(np.float64(gradients[place]) * directions[place]) for place in gradients)
        expected, changes, size = slopes_of_old(arrays, directions, output_gradients, step)
        # Where the body has kinks, such as those of a maximum, shorter steps have other slopes.
        others = [slopes_of_old(arrays, directions, output_gradients, step / part)[0] for part in (2, 8)]
        spread = max(abs(other - expected) for other in others)
        if np.isfinite(expected) and np.isfinite(spread):
            # A difference of outputs is rounded as they are. The gradient of a port in float32 is rounded as such a
            # number is, and a little as the outputs are, which may be far larger.
            parts = sum(np.sum(np.abs(np.float64(gradients[place]) * directions[place])) for place in gradients)
            rounding = max({{"float64": 0, "float32": 1e-6}}.get(one.dtype.name, 5e-5) for one in gradients.values())
            rounded = max(max(20 * precision / step, rounding) * max(size, 1e-30), 5e-5 * min(parts, size))
            tolerance = 5 * max(step, 1e-4) * changes + rounded
            np.testing.assert_allclose(slope, expected, rtol=0, atol=tolerance + 4 * spread)
'''


def _run_by_itself(functions: Sequence[str]) -> str:
    """Return what runs the tests where the file is run as a program, which takes neither pytest nor its settings."""
    tests = [name for name in functions if name.startswith("test_")]
    calls = "".join(f"    {name}()\n" for name in tests)
    return f"""
if __name__ == "__main__":
{calls}    print("passed: {", ".join(tests)}")
"""


# What the test of a batched port has in place of that of a port: batches, and the old body for each example of one.

VARY = '''
def vary(arguments, factor):
    """Return the arguments of another example: floats times a factor."""
    arrays = [np.asarray(one) for one in arguments]
    return [np.asarray(one * factor, one.dtype) if one.dtype.kind == "f" else one for one in arrays]
'''
FACTORS = "(1.0, 0.9, 0.8)"


def _batch_examples(expression: str, rng: str, *, is_fixed: bool) -> str:
    """Return the function that makes batches.

    Args:
        expression: the arguments of single calls, as source.
        rng: the line that makes a generator, if one is needed.
        is_fixed: is there but one example of each shape?
    """
    several = f"[vary(one, factor) for one in {expression} for factor in {FACTORS}]" if is_fixed else expression
    vary = f"{VARY}\n" if is_fixed else ""
    return f'''{vary}
def examples():
    """Return the arguments of several calls: batches of two lengths, each of examples of one shape."""
{rng}    batches = {{}}
    for arguments in {several}:
        arrays = [np.asarray(one) for one in arguments]
        batches.setdefault(str([one.shape for one in arrays]), []).append(arrays)
    return [
        [np.stack(one) for one in zip(*batch[:count])]
        for batch in batches.values()
        for count in {{min(2, len(batch)), len(batch)}}
    ]
'''


def _batch_old(function: str, given: str, copy: str) -> str:
    """Return the function that calls the old body for each example.

    Args:
        function: its name.
        given: its arguments, of a list `row`.
        copy: what it gets of `one`.
    """
    return f'''
def old(arguments):
    """Return what the old body returns for each example of a batch, as arrays with a leading axis."""
    rows = [[{copy} for one in row] for row in zip(*arguments)]
    outputs = zip(*(as_tuple({function}({given})) for row in rows))
    return tuple(np.stack([np.asarray(one) for one in output]) for output in outputs)
'''


BATCH_GRADIENT = "old_gradient"
"""The name of what calls the old gradient for each example."""


def _batch_gradient(name: str) -> str:
    """Return the function that calls the old gradient for each example."""
    return f'''
def {BATCH_GRADIENT}(arrays, outputs, output_gradients):
    """Return what the old gradient returns for each example of a batch, with a leading axis."""
    rows = zip(zip(*arrays), zip(*outputs), zip(*output_gradients))
    found = zip(*(as_tuple({name}(*map(list, row))) for row in rows))
    return tuple(np.stack([np.asarray(one) for one in each]) for each in found)
'''


def _batch_in_dataset(call: str) -> str:
    """Return the test that has `Dataset.map` call a port.

    Args:
        call: the call, on a list `tensors`.
    """
    return f'''
def test_in_a_dataset():
    """The port returns what the old body does where `Dataset.map` calls it with batches."""
    for arguments in examples():
        dataset = tf.data.Dataset.from_tensor_slices(tuple(arguments)).batch(len(arguments[0]), drop_remainder=True)
        (found,) = dataset.map(lambda *tensors: {call})
        for one, other in zip(as_tuple(found), old(arguments)):
            assert_same(one, other)
'''
