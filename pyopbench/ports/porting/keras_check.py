"""What the test of a port to `keras.ops` has in place of that of others: it runs on whatever backend Keras runs on."""

from __future__ import annotations


def values(module: str, function: str, given: str) -> str:
    """Return the tests of values: on the backend that there is, and in a graph of TensorFlow's.

    Args:
        module: the name under which the test has the module of the port.
        function: of the port.
        given: its arguments, of a list `tensors`.
    """
    return f'''
def check_values(port, as_tensor):
    """Assert that a port returns what the old body does."""
    for arguments in examples():
        tensors = [as_tensor(np.asarray(one)) for one in arguments]
        found, expected = as_tuple(port({given})), old(arguments)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(keras.ops.convert_to_numpy(one), other)


def test_values():
    """The port returns what the old body does, on the backend of KERAS_BACKEND."""
    check_values({module}.{function}, keras.ops.convert_to_tensor)


def test_values_in_a_graph():
    """The port returns that in a graph of TensorFlow's."""
    if keras.backend.backend() == "tensorflow":
        check_values(tf.function({module}.{function}), tf.constant)
'''


ON_TENSORFLOW = """    if keras.backend.backend() != "tensorflow":
        return
"""
"""At the beginning of a test of gradients, which are TensorFlow's."""
