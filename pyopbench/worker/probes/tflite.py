"""Can it be converted for TFLite, and run there?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.worker.subject import Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Convert it, with TensorFlow's own ops allowed where TFLite has none, and run it by the interpreter."""
    concrete = subject.function().get_concrete_function(*subject.given)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    model = tf.lite.Interpreter(model_content=converter.convert())
    names = [spec.name for spec in concrete.structured_input_signature[0]]
    subject.require_values("what TFLite computes", _call(model, names, subject.arrays))
    return Seen()


def _call(model: tf.lite.Interpreter, names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
    """Return what a model computes, by the names of its signature: its tensors come in an order of their own.

    Args:
        model: with a signature, or without one, as the converter makes it of what captures a variable.
        names: of the inputs, in their order, as the function that was converted has them.
        arrays: the inputs.
    """
    signatures = list(model.get_signature_list().values())
    if not signatures:
        return _call_in_order(model, arrays)
    inputs = signatures[0]["inputs"]
    order = names if sorted(names) == sorted(inputs) else inputs
    found = model.get_signature_runner()(**dict(zip(order, arrays, strict=True)))
    return [found[name] for name in sorted(found, key=_place_of)]


def _call_in_order(model: tf.lite.Interpreter, arrays: Sequence[Any]) -> list[Any]:
    model.allocate_tensors()
    for detail, array in zip(model.get_input_details(), arrays, strict=True):
        model.set_tensor(detail["index"], array)
    model.invoke()
    return [model.get_tensor(detail["index"]) for detail in model.get_output_details()]


def _place_of(name: str) -> int:
    """Return which output has a name, `output_0` and so on."""
    return int(name.rpartition("_")[2])


PROBE = Probe("tflite", "TFLite, with select TensorFlow ops", run)
