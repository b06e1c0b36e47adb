"""Loads the custom op of a C++ kernel and registers its gradients with TensorFlow.

A source in the form of `kernels/` registers for an op `my_op` the TensorFlow op `PyopbenchMyOp`, with the inputs and
outputs of the op, and where it has a gradient `PyopbenchMyOpGradient`: from all inputs and the gradients of the
floating outputs to the gradients of the differentiable inputs. If that is elementwise, with one input, there may be
`PyopbenchMyOpGradientGradient(x, dy, v)`, its gradient by `x`, which makes second order possible. Kernels for a GPU
are in a library next to it, which only who wants a GPU loads (`ops/kernels/cuda.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.machine import usable_cores
from pyopbench.model.op import Body, Op
from pyopbench.ops.kernels import cuda, simulated_device
from pyopbench.ops.kernels.compiler import CannotCompile, compiler, library_of, load_custom_ops
from pyopbench.ports.arrays import as_tuple, one_or_tuple

_registered: set[str] = set()
"""Types of ops whose gradient is registered: TensorFlow takes one for each, for the life of the process."""

_refused: dict[Path, CannotCompile] = {}
"""Sources that cannot be compiled here, and why: asked for once for each size and direction, and compiled once."""

_refused_on_gpu: dict[Path, CannotCompile] = {}
"""Sources whose CUDA kernels cannot be compiled here, and why."""


def compile_ahead(ops: Iterable[Op], notify: Callable[[Path], None], *, on_gpu: bool = False) -> None:
    """Compile the kernels of some ops on all cores, so that nothing has to wait for them one by one.

    Args:
        ops: those without a kernel are passed over.
        notify: is called with each source when the compiler is done with it.
        on_gpu: compile those for a GPU too.
    """
    sources = list(dict.fromkeys(op.kernel for op in ops if op.kernel is not None))
    _compile_all(sources, library_of, _refused, notify)
    if on_gpu and cuda.why_not() is None:
        elementwise = [source for source in sources if cuda.why_not_for(source) is None]
        _compile_all(elementwise, cuda.library_of, _refused_on_gpu, notify)


def _compile_all(
    sources: Sequence[Path],
    compile_source: Callable[[Path], Path],
    refused: dict[Path, CannotCompile],
    notify: Callable[[Path], None],
) -> None:
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        source_of = {pool.submit(compile_source, source): source for source in sources}
        for future in as_completed(source_of):
            error = future.exception()
            if isinstance(error, CannotCompile):
                refused[source_of[future]] = error
            elif error is not None:
                raise error
            notify(source_of[future])


def why_not(op: Op, *, on_gpu: bool = False) -> str | None:
    """Return why an op can have no custom op here, as far as is known without compiling anything; None if it can."""
    assert op.kernel is not None
    try:
        compiler()
    except CannotCompile as error:
        return error.sentence
    if op.kernel in _refused:
        return _refused[op.kernel].sentence
    if not on_gpu:
        return None
    refused = _refused_on_gpu.get(op.kernel)
    return refused.sentence if refused else cuda.why_not_for(op.kernel) or cuda.why_not()


def body_of(op: Op, *, on_gpu: bool = False) -> Body:
    """Return the custom op of an op, with gradients; with kernels for a GPU where that is asked for.

    Raises:
        CannotCompile: there is no library for it.
    """
    assert op.kernel is not None
    library = _load(op.kernel)
    if on_gpu:
        _load_for_gpu(op.kernel)
    call: Callable[..., Any] | None = getattr(library, f"pyopbench_{op.name}", None)
    if call is None:
        raise CannotCompile(
            f"{op.kernel.name} registers no op of the name {_kind_of(op)}",
            received=", ".join(sorted(name for name in dir(library) if name.startswith("pyopbench_"))) or "none",
            hint=f"register {_kind_of(op)}",
        )
    _register_gradients(op, library)

    def body(*inputs: Any) -> Any:
        return one_or_tuple(as_tuple(call(*inputs)))

    return body


def _kind_of(op: Op) -> str:
    return "Pyopbench" + "".join(word.capitalize() for word in op.name.split("_"))


def _load(source: Path) -> Any:
    return load_custom_ops(
        library_of(source, simulated_device.KERNEL_DEFINES if simulated_device.is_simulated() else ())
    )


def _load_for_gpu(source: Path) -> None:
    reason = cuda.why_not_for(source)
    if reason:  # nvcc would refuse the source for want of TensorFlow's headers
        raise CannotCompile(reason)
    load_custom_ops(cuda.library_of(source))


def _register_gradients(op: Op, library: Any) -> None:
    kind = _kind_of(op)
    first = getattr(library, f"pyopbench_{op.name}_gradient", None)
    second = getattr(library, f"pyopbench_{op.name}_gradient_gradient", None)
    if first is None or kind in _registered:
        return
    _registered.add(kind)

    @tf.RegisterGradient(kind)  # type: ignore[untyped-decorator,unused-ignore]
    def gradient(node: Any, *output_gradients: Any) -> list[Any]:
        found = as_tuple(first(*node.inputs, *(output_gradients[i] for i in op.floating_outputs)))
        by_input = dict(zip(op.differentiable, found, strict=True))
        return [by_input.get(i) for i in range(len(node.inputs))]

    if second is not None:

        @tf.RegisterGradient(f"{kind}Gradient")  # type: ignore[untyped-decorator,unused-ignore]
        def gradient_of_gradient(node: Any, incoming: Any) -> list[Any]:
            x, dy = node.inputs
            return [second(x, dy, incoming), first(x, incoming)]
