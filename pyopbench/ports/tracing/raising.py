"""What a graph raises for, because Python would not go on with what the graph has."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

NODE = "raises_what_XLA_would_leave_out"
"""Name of the node that XLA names where it refuses a graph."""


def required(condition: Any, message: str, seen: Any = None) -> Any:
    """Return a tensor on whose control dependency a graph raises where a condition does not hold.

    XLA compiles an assertion to nothing and would go on with another value than Python's. So the message has a value in
    it: XLA has no text, and refuses the graph. The text is made only where the graph raises.

    Args:
        condition: a truth value, which may be a tensor.
        message: what is raised.
        seen: a number to be told with it; the condition by default.
    """
    holds = tf.convert_to_tensor(condition)

    def raises() -> Any:
        told = tf.strings.format("({})", holds if seen is None else seen, name=NODE)
        # The condition once more, because of a batch this branch is taken for the examples of which it does not hold.
        with tf.control_dependencies([tf.raw_ops.Assert(condition=holds, data=[message, told])]):
            return tf.identity(holds)

    return tf.cond(holds, lambda: tf.constant(True), raises)
