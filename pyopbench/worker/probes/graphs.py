"""Probes of graphs: are they of use where the Python function is not, and to compilers and converters?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import tensorflow as tf

from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.subject import Fails, Seen, Subject

INPUT, OUTPUT = "x{}:0", "y{}:0"
"""Names of inputs and outputs, by their places."""

OUTPUT_NODE = re.compile(r"y\d+")
SESSION_MILLISECONDS = 20_000


def graph_of(subject: Subject) -> tf.Graph:
    """Return a graph with the op from placeholders to its outputs; a tf.function inside where it is compiled."""
    graph = tf.Graph()
    with graph.as_default():
        placeholders = [
            tf.compat.v1.placeholder(one.dtype, one.shape, name=f"x{place}") for place, one in enumerate(subject.given)
        ]
        compute = subject.build() if subject.variant.is_callback else subject.function()
        for place, output in enumerate(as_tuple(compute(*placeholders))):
            tf.identity(output, name=f"y{place}")
    return graph


def run_graph(graph: tf.Graph, target: str, arrays: Sequence[Any]) -> list[Any]:
    """Run a graph of `graph_of` of some arrays on a server, or without one if `target` is empty; return its outputs."""
    outputs = sum(OUTPUT_NODE.fullmatch(node.name) is not None for node in graph.get_operations())
    options = tf.compat.v1.RunOptions(timeout_in_ms=SESSION_MILLISECONDS)
    with tf.compat.v1.Session(target, graph=graph) as session:
        fed = {INPUT.format(place): array for place, array in enumerate(arrays)}
        found: list[Any] = session.run([OUTPUT.format(place) for place in range(outputs)], fed, options=options)
        return found


def import_and_run(serialized: bytes, *arrays: Any) -> list[Any]:
    """Import a GraphDef and return what it computes of some arrays."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(serialized), name="")
    return run_graph(graph, "", arrays)


def graphdef(subject: Subject) -> Seen:
    """Take the GraphDef of a v1 graph here, and run it in a new process."""
    serialized = graph_of(subject).as_graph_def().SerializeToString()
    found = subject.elsewhere(import_and_run, serialized, *subject.arrays)
    subject.require_values("the result of the graph", found)
    return Seen("with the library of the op loaded before" if subject.libraries else "")


def load(folder: str, *arrays: Any) -> list[Any]:
    """Load a model and return what its function computes of some arrays: a list of arrays."""
    outputs = tf.saved_model.load(folder).compute(*map(tf.constant, arrays))
    return [output.numpy() for output in as_tuple(outputs)]


def save(subject: Subject) -> str:
    """Save the subject and return the folder."""
    module = tf.Module()
    module.compute = subject.function()
    module.compute.get_concrete_function(*subject.given)
    folder = str(subject.folder / "model")
    tf.saved_model.save(module, folder)
    return folder


def savedmodel(subject: Subject) -> Seen:
    """Save here, load and call in a new process."""
    found = subject.elsewhere(load, save(subject), *subject.arrays)
    subject.require_values("the result of the loaded model", found)
    return Seen("with the library of the op loaded before" if subject.libraries else "")


OWN_CALLBACKS = 1500
"""More than a probing process has made before it saves, so that the number of every saved one is taken."""

MAKERS = {"PyFunc": tf.numpy_function, "EagerPyFunc": tf.py_function}

_kept: list[tf.Graph] = []


def load_beside(kind: str, folder: str, *arrays: Any) -> list[Any]:
    """Make callbacks of a kind that return what they are given, under every number, then load and call the model."""
    if not _kept:
        graph = tf.Graph()
        with graph.as_default():
            x = tf.zeros(1)
            for _ in range(OWN_CALLBACKS):
                MAKERS[kind](lambda x: x, [x], tf.float32)
        _kept.append(graph)  # TensorFlow forgets a callback with the graph that it was made in
    return load(folder, *arrays)


def savedmodel_beside_callbacks(subject: Subject) -> Seen:
    """Save here, load and call in a process whose own callbacks return their input.

    They are found by number, and numbers repeat.
    """
    kind = "EagerPyFunc" if "EagerPyFunc" in str(graph_of(subject).as_graph_def()) else "PyFunc"
    found = subject.elsewhere(load_beside, kind, save(subject), *subject.arrays, peer=f"with callbacks: {kind}")
    subject.require_values("the result of the loaded model", found)
    return Seen()


@cache
def start_server() -> tf.distribute.Server:
    """Start a server in this process, once."""
    return tf.distribute.Server.create_local_server()


def server_same_process(subject: Subject) -> Seen:
    """Run a v1 graph by a `tf.distribute.Server` of this process."""
    found = run_graph(graph_of(subject), start_server().target, subject.arrays)
    subject.require_values("the result of the server", found)
    return Seen()


def target() -> str:
    """Start a server in this process, once, and return where to reach it."""
    return str(start_server().target)


def server_other_process(subject: Subject) -> Seen:
    """Run a v1 graph by a `tf.distribute.Server` of another process."""
    found = run_graph(graph_of(subject), subject.elsewhere(target), subject.arrays)
    subject.require_values("the result of the server", found)
    return Seen("with the library of the op loaded there" if subject.libraries else "")


def static_shape(subject: Subject) -> Seen:
    """Trace it for an input of known shape and read the shape of the output."""
    (given,) = subject.given
    shape = subject.function().get_concrete_function(given).structured_outputs.shape
    if shape.rank is None or not shape.is_fully_defined():
        raise Fails(f"the shape of the result is {shape}, for an input of {given.shape}")
    return Seen()


def tflite(subject: Subject) -> Seen:
    """Convert it, with TensorFlow's own ops allowed where TFLite has none, and run it by the interpreter."""
    concrete = subject.function().get_concrete_function(*subject.given)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    model = tf.lite.Interpreter(model_content=converter.convert())
    names = [spec.name for spec in concrete.structured_input_signature[0]]
    subject.require_values("the result of TFLite", _call_model(model, names, subject.arrays))
    return Seen()


def _call_model(model: tf.lite.Interpreter, names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
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
    return [found[name] for name in sorted(found, key=_place_of_output)]


def _call_in_order(model: tf.lite.Interpreter, arrays: Sequence[Any]) -> list[Any]:
    model.allocate_tensors()
    for detail, array in zip(model.get_input_details(), arrays, strict=True):
        model.set_tensor(detail["index"], array)
    model.invoke()
    return [model.get_tensor(detail["index"]) for detail in model.get_output_details()]


def _place_of_output(name: str) -> int:
    """Return which output has a name, `output_0` and so on."""
    return int(name.rpartition("_")[2])


def xla(subject: Subject) -> Seen:
    """Call it under `tf.function(jit_compile=True)`."""
    subject.require_values("the result of XLA", subject.function(jit_compile=True)(*subject.tensors))
    return Seen()
