"""Can it be converted for TFLite, and run there?"""

from __future__ import annotations

import tensorflow as tf

from pyopbench.worker.subject import Probe, Seen, Subject, require_equal


def run(subject: Subject) -> Seen:
    """Convert it, with TensorFlow's own ops allowed where TFLite has none, and run it by the interpreter."""
    concrete = subject.function().get_concrete_function(subject.given)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], subject.numbers)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    require_equal("what TFLite computes", found, subject.expected)
    return Seen()


PROBE = Probe("tflite", "TFLite, with select TensorFlow ops", run)
