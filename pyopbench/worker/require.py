"""Tries what a port may be required to do (`--require`), with an op's own inputs and reference, in one variant.

A function of `REQUIREMENTS` returns where the variant works: the condition for that, or "". It lets TensorFlow's own
error through where it fails. It raises `Differs` where something wrong comes without an error, and `Inapplicable` where
there is nothing to try.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.child_process import die_with_parent
from pyopbench.model.errors import WrongResult, describe_error
from pyopbench.model.files import load_file
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels.compiler import library_of, load_custom_ops
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.arrays import as_array, as_tuple, dtype_of
from pyopbench.worker.late_keras import import_tensorflow
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.checks import (
    Reference,
    dense,
    reference_of,
    require_equal,
)
from pyopbench.worker.prepare.gradient_check import ScalarFunction, slope_error, small_size
from pyopbench.worker.prepare.segments import constants

PEER_SECONDS, PEER_START_SECONDS = 60.0, 180.0
"""The most that another process may take for one call, and to import TensorFlow; a worker may be silent for longer."""

SESSION_MILLISECONDS = 20_000

WITH_PORT = "where the port's module is imported"
"""The condition under which a port that registers an op of its own works in another process."""


class Differs(Exception):
    """Something else came out than should, without an error: silently wrong."""


class Inapplicable(Exception):
    """There is nothing to try; the reason."""


class Raised(Exception):
    """The error of another process, in one line."""


@dataclass(frozen=True)
class Subject:
    """A variant of an op, at a small size of the op and in its first dtype."""

    op: Op
    variant: Variant
    gradient: str  # the mechanism that its gradient is attached by; `NO_GRADIENT` where it has none
    folder: Path  # empty
    why_no_gradient: str = ""  # empty where it has one

    @cached_property
    def reference(self) -> Reference:
        """The inputs, and what NumPy makes of them."""
        return reference_of(self.op.name, small_size(self.op), self.op.dtypes[0])

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The inputs; text as objects of `bytes`."""
        return self.reference.inputs

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """Shape and dtype of each input."""
        return tuple(tf.TensorSpec(array.shape, dtype_of(array)) for array in self.arrays)

    @property
    def body(self) -> Body:
        """The op in this variant, of tensors."""
        return self.variant.build(self.op, _case(self.op, self.variant, self.gradient))

    def function(self, **options: Any) -> Any:
        """Return the op as a `tf.function`, with the variant's own options and `options`."""
        return tf.function(self.body, **{**self.variant.function_options, **options})

    def require_values(self, what: str, found: Any) -> None:
        """Check computed outputs against the op's reference, within its tolerance."""
        outputs, expected = as_tuple(found), self.reference.outputs
        if len(outputs) != len(expected):
            raise Differs(f"{what}: {len(outputs)} outputs where the reference has {len(expected)}")
        for place, (output, right) in enumerate(zip(outputs, expected, strict=True)):
            name = what if len(expected) == 1 else f"{what}, output {place},"
            array = as_array(output.numpy() if tf.is_tensor(output) else output)
            try:
                require_equal(name, array, right, self.op.tolerance[self.op.dtypes[0]])
            except WrongResult as wrong:
                raise Differs(f"{wrong}, without an error") from wrong


def _case(op: Op, variant: Variant, gradient: str) -> Case:
    direction = "forward" if gradient == NO_GRADIENT else "forward_backward"
    return Case(op.name, variant.name, gradient, direction, "call", op.dtypes[0], small_size(op))


def load_subject(op_name: str, variant_name: str, gradient: str, folder: Path) -> Subject:
    """Return a variant of an op, with its gradient where it can have that."""
    op, variant = load_op(op_name), load_variant(variant_name)
    reason = why_not(op, variant, _case(op, variant, NO_GRADIENT))
    if reason:
        raise Inapplicable(reason)
    why = why_not(op, variant, _case(op, variant, gradient)) or ""
    if op.lacks_gradient and variant.is_port:
        why = ""  # TensorFlow finds one through a port, and no case compares it with a callback's
    return Subject(op, variant, NO_GRADIENT if why else gradient, folder, why)


def answer(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request to try one requirement with an op in a variant: the status, and why it is not `works`."""
    requirement, op, variant, gradient = (request[name] for name in ("requirement", "op", "variant", "gradient"))
    emit({"event": "at", "case": "/".join((requirement, op, variant, gradient))})
    with tempfile.TemporaryDirectory(prefix="pyopbench-require-") as folder:
        status, reason = try_requirement(requirement, op, variant, gradient, Path(folder))
    return {"status": status, "reason": reason}


def try_requirement(requirement: str, op: str, variant: str, gradient: str, folder: Path) -> tuple[str, str]:
    """Return what comes of a requirement as a status of `store.types.RequirementLine`, and the reason."""
    try:
        return "works", REQUIREMENTS[requirement](load_subject(op, variant, gradient, folder))
    except Inapplicable as reason:
        return "does not apply", str(reason)
    except Differs as difference:
        return "silently wrong", str(difference)
    except Raised as there:
        return "fails", str(there)
    except Exception as error:  # noqa: BLE001 - TensorFlow's error is the answer
        return "fails", describe_error(error)


def try_elsewhere(subject: Subject, attempt: Callable[[Path | None], None]) -> str:
    """Try something with another process; if that fails, with one that has imported the port's module.

    `attempt` is called with what the other process imports: None, or the file of the port. Returns the condition under
    which it works, or "".
    """
    try:
        attempt(None)
    except (Raised, tf.errors.NotFoundError):
        module = PORTS.path_of(subject.op, subject.variant.name)
        if module is None:
            raise
        attempt(module)
        return WITH_PORT
    return ""


def call_elsewhere(subject: Subject, function: Callable[..., Any], *arguments: Any, module: Path | None = None) -> Any:
    """Return what a function of this module returns in another process, where no callback is ever made.

    It loads the library of the subject's kernel, and imports `module`; what imports files is another process than what
    imports none.
    """
    kernel = subject.op.kernel if subject.variant.body == "kernel" else None
    libraries = [] if kernel is None else [str(library_of(kernel))]
    try:
        work = _peer("bare" if module is None else "with ports").submit(
            _guarded, libraries, module, function, arguments
        )
        is_done, result = work.result(PEER_SECONDS)
    except (BrokenProcessPool, futures.TimeoutError) as error:
        _peer.cache_clear()
        raise Raised(f"the other process ended, or was silent for too long: {type(error).__name__}") from error
    if not is_done:
        raise Raised(result)
    return result


@cache
def _peer(_name: str) -> futures.ProcessPoolExecutor:
    peer = futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start_peer)
    try:
        peer.submit(os.getpid).result(PEER_START_SECONDS)
    except futures.TimeoutError:  # not the one of Python before 3.11
        peer.shutdown(wait=False, cancel_futures=True)
        raise
    return peer


def _start_peer() -> None:
    die_with_parent()
    import_tensorflow()


def _guarded(
    libraries: Sequence[str], module: Path | None, function: Callable[..., Any], arguments: Sequence[Any]
) -> tuple[bool, Any]:
    try:
        for library in libraries:
            load_custom_ops(Path(library))
        if module is not None:
            load_file(module, f"port_{module.parent.name}_{module.stem}")
        return True, function(*arguments)
    except Exception as error:  # noqa: BLE001 - not every error of TensorFlow can be pickled
        return False, describe_error(error)


def savedmodel(subject: Subject) -> str:
    """Save the op here; load and call it in another process."""
    module = tf.Module()
    module.compute = subject.function()
    module.compute.get_concrete_function(*subject.specs)
    folder = str(subject.folder / "model")
    tf.saved_model.save(module, folder)

    def load_there(imported: Path | None) -> None:
        found = call_elsewhere(subject, load, folder, *subject.arrays, module=imported)
        subject.require_values("the result of the loaded model", found)

    return try_elsewhere(subject, load_there)


def load(folder: str, *arrays: Any) -> list[Any]:
    """Load a model and return what its function computes of some arrays: a list of arrays."""
    outputs = tf.saved_model.load(folder).compute(*map(tf.constant, arrays))
    return [output.numpy() for output in as_tuple(outputs)]


def xla(subject: Subject) -> str:
    """Call it under `tf.function(jit_compile=True)`."""
    found = subject.function(jit_compile=True)(*constants(subject.arrays))
    subject.require_values("the result of XLA", found)
    return ""


def distributed(subject: Subject) -> str:
    """Run a v1 graph of it by a `tf.distribute.Server` of another process."""
    graph = tf.Graph()
    with graph.as_default():
        inputs = [
            tf.compat.v1.placeholder(one.dtype, one.shape, f"x{place}") for place, one in enumerate(subject.specs)
        ]
        compute = subject.body if subject.variant.is_callback else subject.function()
        outputs = [tf.identity(one, f"y{place}") for place, one in enumerate(as_tuple(compute(*inputs)))]

    def run_there(imported: Path | None) -> None:
        options = tf.compat.v1.RunOptions(timeout_in_ms=SESSION_MILLISECONDS)
        address = call_elsewhere(subject, start_server, module=imported)
        with tf.compat.v1.Session(address, graph=graph) as session:
            found = session.run(outputs, dict(zip(inputs, subject.arrays, strict=True)), options=options)
        subject.require_values("the result of the server", found)

    return try_elsewhere(subject, run_there)


_servers: list[tf.distribute.Server] = []


def start_server() -> str:
    """Start a server in this process, once, and return its address."""
    if not _servers:
        _servers.append(tf.distribute.Server.create_local_server())
    return str(_servers[0].target)


def tflite(subject: Subject) -> str:
    """Convert it, with TensorFlow's own ops allowed where TFLite has none, and run it in the interpreter."""
    concrete = subject.function().get_concrete_function(*subject.specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    model = tf.lite.Interpreter(model_content=converter.convert())
    names = [one.name for one in concrete.structured_input_signature[0] if one is not None]
    # By name, because the tensors of a model have an order of their own.
    signatures = list(model.get_signature_list().values())
    if not signatures:
        raise Inapplicable("TFLite writes no signature for a function that captures a variable")
    inputs = signatures[0]["inputs"]
    order = names if sorted(names) == sorted(inputs) else inputs
    outputs = model.get_signature_runner()(**dict(zip(order, subject.arrays, strict=True)))
    in_order = sorted(outputs, key=lambda name: int(name.rpartition("_")[2]))
    subject.require_values("the result of TFLite", [outputs[name] for name in in_order])
    return ""


def second_order(subject: Subject) -> str:
    """Differentiate it twice, and compare with differences of its first gradient.

    What is differentiated is the sum of y + y**2 / (2 s) over the outputs y, whose largest magnitude is s, and of x**2
    over the inputs. TensorFlow leaves out the part of a gradient that cannot be differentiated again, without an error;
    then the part of x**2 alone is left. The part of y**2 shows that also where the second derivative of the op is 0.
    """
    if subject.why_no_gradient or not subject.op.differentiable:
        raise Inapplicable(subject.why_no_gradient or "the op has no gradient")
    function = subject.function()
    rng = np.random.default_rng([2, *subject.op.name.encode()])
    directions = [
        rng.uniform(0.5, 1.5, subject.arrays[place].shape).astype(subject.arrays[place].dtype)
        for place in subject.op.differentiable
    ]
    tensors = constants(subject.arrays)
    watched = [tensors[place] for place in subject.op.differentiable]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        first = _first_gradients(subject, function, tensors)
    found = dense(tape.gradient(first, watched, output_gradients=list(constants(directions))))

    def scalar(*arrays: Any) -> float:
        return float(sum(product.sum() for product in _products(subject, function, directions, arrays)))

    magnitude = sum(float(np.abs(one).sum()) for one in _products(subject, function, directions, subject.arrays))
    errors = []
    for position, second in zip(subject.op.differentiable, found, strict=True):
        what = f"the second derivative by input {position}, without an error"
        try:
            errors.append(slope_error(what, second, ScalarFunction(scalar, subject.arrays, position, magnitude)))
        except WrongResult as wrong:
            raise Differs(str(wrong)) from wrong
    if all(error is None for error in errors):
        raise Inapplicable("finite differences are too rough to check its second derivative")
    return ""


def _products(subject: Subject, function: Body, directions: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return the first gradients at some inputs times a direction each, float64."""
    first = _first_gradients(subject, function, constants(arrays))
    return [gradient.numpy().astype(np.float64) * way for gradient, way in zip(first, directions, strict=True)]


def _first_gradients(subject: Subject, function: Body, tensors: Sequence[Any]) -> list[Any]:
    """Return the gradients of what is differentiated, by the differentiable inputs, as tensors."""
    watched = [tensors[place] for place in subject.op.differentiable]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = as_tuple(function(*tensors))
        targets = [x * x for x in watched]
        for place in subject.op.floating_outputs:
            scale = float(np.abs(subject.reference.outputs[place]).max(initial=0.0)) or 1.0
            targets.append(outputs[place] + outputs[place] * outputs[place] / (2 * scale))
    incoming = [*map(tf.ones_like, watched), *constants(subject.reference.output_gradients)]
    return dense(tape.gradient(targets, watched, output_gradients=incoming))


REQUIREMENTS: Mapping[str, Callable[[Subject], str]] = {
    "savedmodel": savedmodel,
    "xla": xla,
    "second_order": second_order,
    "distributed": distributed,
    "tflite": tflite,
}
