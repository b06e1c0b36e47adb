"""Every probe by name: what is tried, in a few words, and the function that tries it.

The names are read off this file where TensorFlow is not imported, by `model.discover`.
"""

from __future__ import annotations

from pyopbench.worker.probes import bodies, gradients, graphs, pipelines
from pyopbench.worker.subject import Probe

PROBES = {
    "breakpoints": Probe("breakpoint() in the body", bodies.breakpoints),
    "called_twice": Probe("one tf.function called twice under one tape", gradients.called_twice),
    "closure_variable": Probe("gradient of a variable that the body captures", gradients.closure_variable),
    "concurrent_calls": Probe("calls from several threads at once, with gradients", bodies.concurrent_calls),
    "data_service": Probe("a map in a tf.data service of another process", pipelines.data_service),
    "debugger": Probe("a debugger's breakpoint in the body (sys.settrace)", bodies.debugger),
    "dtype_mismatch": Probe("a body that returns another dtype raises an error", bodies.dtype_mismatch),
    "exceptions": Probe("exceptions of the body at the caller", bodies.exceptions),
    "gradient": Probe("gradient, by the mechanism named", gradients.gradient),
    "gradient_twice": Probe("gradient taken twice from one persistent tape", gradients.gradient_twice),
    "graphdef": Probe("GraphDef, run where its Python function is not", graphs.graphdef),
    "map_function": Probe("a tf.function inside the body, in tf.data maps", pipelines.map_function),
    "map_memory": Probe("memory after 10,000 calls in tf.data maps", pipelines.map_memory),
    "map_order": Probe("a deterministic parallel map calls the body in order", pipelines.map_order),
    "map_python_loop": Probe(
        "tf.data parallel map of a Python loop: two calls at once against one", pipelines.map_python_loop
    ),
    "map_released": Probe(
        "tf.data parallel map of a body that releases the GIL: two calls at once against one", pipelines.map_released
    ),
    "memory_growth": Probe("memory after thousands of calls", bodies.memory_growth),
    "mirrored": Probe("MirroredStrategy over two logical CPUs, with its gradient", gradients.mirrored),
    "mirrored_input": Probe(
        "a tf.data map that feeds MirroredStrategy over two logical CPUs", pipelines.mirrored_input
    ),
    "mutates_input": Probe("a body that writes to its input leaves the caller's tensor alone", bodies.mutates_input),
    "numpy_arrays": Probe("the body is given NumPy arrays", bodies.numpy_arrays),
    "own_gradient": Probe("gradient, with none attached to it", gradients.own_gradient),
    "savedmodel": Probe("SavedModel, loaded and called in a new process", graphs.savedmodel),
    "savedmodel_beside_callbacks": Probe(
        "SavedModel, loaded in a process that has callbacks of its own", graphs.savedmodel_beside_callbacks
    ),
    "second_order": Probe("second-order gradient", gradients.second_order),
    "server_other_process": Probe("tf.distribute.Server in another process", graphs.server_other_process),
    "server_same_process": Probe("tf.distribute.Server in the same process", graphs.server_same_process),
    "static_shape": Probe("static shape of the result", graphs.static_shape),
    "stop_iteration": Probe("StopIteration in the body inside tf.data raises an error", pipelines.stop_iteration),
    "tflite": Probe("TFLite, with select TensorFlow ops", graphs.tflite),
    "while_loop": Probe("inside tf.while_loop, with its gradient", gradients.while_loop),
    "xla": Probe("tf.function(jit_compile=True)", graphs.xla),
}
