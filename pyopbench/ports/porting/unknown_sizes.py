"""Whether a port works where a graph does not know the sizes of its inputs, as behind a decoder, a pad or a split."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.porting.facts import Facts, filled
from pyopbench.ports.porting.module_text import import_text


def inputs_of_known_sizes(text: str, facts: Facts, keywords: Sequence[str], example: Sequence[Any]) -> tuple[str, ...]:
    """Return which inputs have to have sizes that are known where a port is traced, by running it.

    None if it takes all sizes unknown, or does not even take known ones, which its test will say; one if that alone is
    enough; else all that have sizes.

    Args:
        text: of its module.
        facts: what it takes and returns.
        keywords: names of the last inputs, where it takes them by name.
        example: the inputs that it is run on.
    """
    port = getattr(import_text("of_unknown_sizes", text), facts.function)
    names = [name for name, _, _ in facts.inputs]
    tensors = [tf.constant(one) for one in example]

    def works(known: Collection[str]) -> bool:
        of_known = zip(names, tensors, strict=True)
        specs = [tf.TensorSpec(one.shape if name in known else [None] * one.ndim, one.dtype) for name, one in of_known]
        try:
            called(called(tf.function(port).get_concrete_function, specs), tensors)
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


def with_sentence(text: str, facts: Facts) -> str:
    """Return the text of a port whose docstring says which sizes have to be known."""
    what = f"The sizes of {sizes_text(facts)} have to be known where it is traced, as in batches of a fixed size."
    said = textwrap.indent(filled(what), "    ")
    start = [found.end() for found in re.finditer(rf"^def {facts.function}\(", text, re.MULTILINE)][-1]
    begin = text.index('"""', start)
    place = text.rindex("\n\n    Args:\n", begin, text.index('"""', begin + 3))
    return f"{text[:place]}\n\n{said}{text[place:]}"


def sizes_text(facts: Facts) -> str:
    """Return the names of the inputs whose sizes have to be known."""
    sized = [name for name, _, rank in facts.inputs if rank]
    return "all inputs" if 1 < len(sized) == len(facts.known) else f"`{facts.known[0]}`"
