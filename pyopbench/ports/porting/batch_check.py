"""What the test of a batched port has in place of that of a port: batches, and the old body for each example of one."""

from __future__ import annotations

VARY = '''
def vary(arguments, factor):
    """Return the arguments of another example: floats times a factor."""
    arrays = [np.asarray(one) for one in arguments]
    return [np.asarray(one * factor, one.dtype) if one.dtype.kind == "f" else one for one in arrays]
'''
FACTORS = "(1.0, 0.9, 0.8)"


def examples(expression: str, rng: str, *, is_fixed: bool) -> str:
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


def old(function: str, given: str, copy: str) -> str:
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


GRADIENT = "old_gradient"
"""The name of what calls the old gradient for each example."""


def gradient(name: str) -> str:
    """Return the function that calls the old gradient for each example."""
    return f'''
def {GRADIENT}(arrays, outputs, output_gradients):
    """Return what the old gradient returns for each example of a batch, with a leading axis."""
    rows = zip(zip(*arrays), zip(*outputs), zip(*output_gradients))
    found = zip(*(as_tuple({name}(*map(list, row))) for row in rows))
    return tuple(np.stack([np.asarray(one) for one in each]) for each in found)
'''


def in_dataset(call: str) -> str:
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
