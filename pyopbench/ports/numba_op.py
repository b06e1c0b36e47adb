"""A Numba function as a TensorFlow op without Python, GIL or C++ compiler; each port has a copy of this.

TensorFlow's C API for kernels, `tensorflow/c/ops.h` and `kernels.h`, defines an op by plain C calls and takes a pointer
for its compute function; `numba.cfunc` makes such a pointer.
"""

import ctypes
import glob
import hashlib
import os
import re
import threading
from types import FunctionType

import llvmlite.binding
import llvmlite.ir
import numba
import numpy as np
import tensorflow as tf
from numba.core.types import Array, BaseTuple, ExternalFunction, UniTuple, int32, int64, intp, void, voidptr
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, overload
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context as eager_context
from tensorflow.python.eager import core as eager_core
from tensorflow.python.framework import op_def_library, op_def_registry
from tensorflow.python.framework import ops as tf_ops

TF_LIBRARY = glob.glob(os.path.join(tf.sysconfig.get_lib(), "libtensorflow_framework.*"))[0]
# Compiled code finds functions of this library by name. Numba could not cache code with pointers to them.
llvmlite.binding.load_library_permanently(TF_LIBRARY)
TF_NewStatus = ExternalFunction("TF_NewStatus", intp())
TF_DeleteStatus = ExternalFunction("TF_DeleteStatus", void(intp))
TF_GetCode = ExternalFunction("TF_GetCode", int32(intp))
TF_SetStatus = ExternalFunction("TF_SetStatus", void(intp, int32, intp))
TF_OpKernelContext_Failure = ExternalFunction("TF_OpKernelContext_Failure", void(intp, intp))
TF_GetInput = ExternalFunction("TF_GetInput", void(intp, int32, intp, intp))
TF_SetOutput = ExternalFunction("TF_SetOutput", void(intp, int32, intp, intp))
TF_NewTensor = ExternalFunction("TF_NewTensor", intp(int32, intp, int32, intp, intp, intp, intp))
TF_DeleteTensor = ExternalFunction("TF_DeleteTensor", void(intp))
TF_NumDims = ExternalFunction("TF_NumDims", int32(intp))
TF_Dim = ExternalFunction("TF_Dim", int64(intp, int32))
TF_TensorData = ExternalFunction("TF_TensorData", voidptr(intp))
NRT_MemInfo_release = ExternalFunction("NRT_MemInfo_release", void(intp))

IS_CACHED = os.access(os.path.dirname(os.path.abspath(__file__)), os.W_OK)
INVALID_ARGUMENT = 3
ON_RELEASE = "pyopbench_release"


@numba.cfunc(void(intp, intp, intp))
def release_memory(data, size, block):
    """Have Numba free the memory of an output that TensorFlow needs no more."""
    NRT_MemInfo_release(block)


llvmlite.binding.add_symbol(ON_RELEASE, release_memory.address)


@intrinsic
def hold_memory(_, array):
    """Return the block of memory of Numba's that an array is in, held once more, and the address of `release_memory`.

    The block is 0 where the array is in memory of others, such as that of an input.
    """

    def generate(context, builder, signature, arguments):
        (kind,), word = signature.args, context.get_value_type(intp)
        context.nrt.incref(builder, kind, arguments[0])
        block = context.make_array(kind)(context, builder, arguments[0]).meminfo
        function = llvmlite.ir.FunctionType(llvmlite.ir.VoidType(), [word] * 3)
        known = builder.module.globals.get(ON_RELEASE) or llvmlite.ir.Function(builder.module, function, ON_RELEASE)
        both = [builder.ptrtoint(one, word) for one in (block, known)]
        return context.make_tuple(builder, signature.return_type, both)

    return UniTuple(intp, 2)(array), generate


def as_arguments(tensors, inputs):
    """Return tensors as a tuple of arrays, and of numbers where they have no axes, as a callback gets them."""


@overload(as_arguments)
def _as_arguments(tensors, inputs):
    def add_array(tensors, inputs):
        dtype, shape = inputs[0]
        for axis in range(len(shape)):
            shape = tuple_setitem(shape, axis, TF_Dim(tensors[0], axis))
        return (numba.carray(TF_TensorData(tensors[0]), shape, dtype), *as_arguments(tensors[1:], inputs[1:]))

    def add_number(tensors, inputs):
        return (numba.carray(TF_TensorData(tensors[0]), (1,), inputs[0][0])[0], *as_arguments(tensors[1:], inputs[1:]))

    if not len(inputs):
        return lambda tensors, inputs: ()
    return add_array if len(inputs[0][1]) else add_number


def as_contiguous(returned, dtype):
    """Return an array or a number as an array of a dtype, in the order of C."""


@overload(as_contiguous)
def _as_contiguous(returned, dtype):
    if not isinstance(returned, Array) or not returned.ndim:
        return lambda returned, dtype: np.asarray(returned).astype(dtype)
    if returned.layout == "C" and returned.dtype == dtype.dtype:
        return lambda returned, dtype: returned
    return lambda returned, dtype: np.ascontiguousarray(returned).astype(dtype)


def put_outputs(context, status, tensors, place, returned, outputs):
    """Make what a body returns, a tuple if it is several, the outputs of an op from a place on."""


@overload(put_outputs)
def _put_outputs(context, status, tensors, place, returned, outputs):
    def put_first(context, status, tensors, place, returned, outputs):
        dtype, code, known = outputs[0]
        array = as_contiguous(returned[0], dtype)
        block, release = hold_memory(array)
        if block == 0:
            array = array.copy()
            block, release = hold_memory(array)
        sizes = np.array((*array.shape, 0))
        data, size = array.ctypes.data, array.nbytes
        tensor = TF_NewTensor(code, sizes.ctypes.data, array.ndim, data, size, release, block)
        TF_SetOutput(context, place, tensor, status)
        TF_DeleteTensor(tensor)
        if sizes.size != len(known):
            raise ValueError
        for axis in range(len(known)):
            of_input, axis_of_input = known[axis]
            if of_input >= 0 and sizes[axis] != TF_Dim(tensors[of_input], axis_of_input):
                raise ValueError
        put_outputs(context, status, tensors, place + 1, returned[1:], outputs[1:])

    def put_only(context, status, tensors, place, returned, outputs):
        put_outputs(context, status, tensors, place, (returned,), outputs)

    if not isinstance(returned, BaseTuple):
        return put_only
    return put_first if len(returned) else lambda context, status, tensors, place, returned, outputs: None


def run_body(context, status, tensors):
    """Call the body of an op. Names in capitals are globals that `with_globals` adds."""
    put_outputs(context, status, tensors, 0, BODY(*as_arguments(tensors, INPUTS)), OUTPUTS)


def try_body(context, status, tensors):
    """Call the body; return False if it raises. A `try` around more makes Numba's compiler recurse without end."""
    try:
        RUN_BODY(context, status, tensors)
    except Exception:
        return False
    return True


def compute_op(kernel, context):
    """Do what TensorFlow's runtime expects of a kernel."""
    status = TF_NewStatus()
    tensors = np.zeros(len(AXES), np.int64)
    for place in range(len(AXES)):
        if TF_GetCode(status) == 0:
            TF_GetInput(context, place, tensors.ctypes.data + tensors.itemsize * place, status)
        if TF_GetCode(status) == 0 and TF_NumDims(tensors[place]) != AXES[place]:
            TF_SetStatus(status, INVALID_ARGUMENT, WRONG_AXES.ctypes.data)
    if TF_GetCode(status) == 0 and not TRY_BODY(context, status, tensors):
        TF_SetStatus(status, INVALID_ARGUMENT, HAS_RAISED.ctypes.data)
    for tensor in tensors:
        if tensor:
            TF_DeleteTensor(tensor)
    if TF_GetCode(status) != 0:
        TF_OpKernelContext_Failure(context, status)
    TF_DeleteStatus(status)


def with_globals(function, name, **values):
    """Return a function under a name of its own, by which Numba caches it, with further globals."""
    copy = FunctionType(function.__code__, {**globals(), **values}, f"{function.__name__}_{name}")
    copy.__qualname__ = copy.__name__
    return copy


def call_c(name, *arguments, returns=ctypes.c_void_p):
    """Call a function of the library with pointers and bytes."""
    function = ctypes.CDLL(TF_LIBRARY)[name]
    function.restype = returns
    return function(*(ctypes.c_void_p(one) if isinstance(one, int) else one for one in arguments))


def check_status(status):
    """Raise what TensorFlow says if a call has failed."""
    if call_c("TF_GetCode", status, returns=ctypes.c_int):
        raise RuntimeError(call_c("TF_Message", status, returns=ctypes.c_char_p).decode())


class NumbaOp:
    """The ops of a body: one for each combination of dtypes and numbers of axes that it is called with."""

    lock = threading.RLock()

    def __init__(self, body, inputs, outputs, gradient=None):
        """Register the op of some inputs, so that a SavedModel that has it can be loaded.

        Args:
            body: a function that Numba has compiled, without closure.
            inputs: dtype and number of axes of each input.
            outputs: dtype of each output, and for each axis None, or an input and an axis of it that has the same size.
            gradient: None, or the op of the gradient, of inputs, outputs and gradients by outputs; positions of the
                inputs that it is by; positions of the outputs whose gradients it takes.
        """
        self.body, self.inputs, self.outputs, self.gradient = body, inputs, outputs, gradient
        self.names = {}
        self.register(tuple(inputs))

    @tf.autograph.experimental.do_not_convert
    def __call__(self, *inputs):
        """Return a tensor, or a list of several; inputs of an unknown number of axes have as many as at first."""
        tensors = [tf.convert_to_tensor(one) for one in inputs]
        axes = [usual if one.shape.rank is None else one.shape.rank for one, (_, usual) in zip(tensors, self.inputs)]
        signature = tuple((one.dtype.name, count) for one, count in zip(tensors, axes))
        name = self.names.get(signature) or self.register(signature)
        if eager_context.executing_eagerly():
            try:
                return pywrap_tfe.TFE_Py_FastPathExecute(eager_context.context(), name, None, *tensors)
            except eager_core._NotOkStatusException as error:
                tf_ops.raise_from_not_ok_status(error, name)
        found = op_def_library.apply_op(name, **{f"input_{place}": one for place, one in enumerate(tensors)})
        for one, (_, sizes) in zip(found if len(self.outputs) > 1 else [found], self.outputs):
            one.set_shape([None if size is None else tensors[size[0]].shape[size[1]] for size in sizes])
        return found

    def register(self, signature):
        """Return the name of the op of dtypes and numbers of axes; register it where there is none."""
        body = self.body.py_func.__name__
        with open(__file__, "rb") as file:
            source = file.read()
        kind = repr((body, signature, self.outputs, bool(self.gradient)))
        key = hashlib.sha256(source + kind.encode()).hexdigest()[:12]
        name = f"PyopbenchPort>Numba{re.sub('[^A-Za-z0-9]', '', body.title())}_{key}"
        with self.lock:
            if op_def_registry.get(name) is None:  # else by another module of this file
                self.add_op(name, self.compile(f"{body}_{key}", signature), signature)
            self.names[signature] = name
        return name

    def compile(self, name, signature):
        """Return the address of the compute_op function."""
        inputs = tuple((np.dtype(dtype), (0,) * axes) for dtype, axes in signature)
        outputs = tuple(
            (np.dtype(dtype), tf.as_dtype(dtype).as_datatype_enum, tuple(one or (-1, -1) for one in (*sizes, None)))
            for dtype, sizes in self.outputs
        )
        calls = numba.njit(with_globals(run_body, name, BODY=self.body, INPUTS=inputs, OUTPUTS=outputs))
        tries = numba.njit(with_globals(try_body, name, RUN_BODY=calls))
        says = [f"{self.body.py_func.__name__} {one}\0" for one in ("raised an exception", f"takes {signature}")]
        has_raised, wrong_axes = (np.frombuffer(one.encode(), np.uint8) for one in says)
        values = {"TRY_BODY": tries, "AXES": np.array([axes for _, axes in signature], np.int32)}
        compiled = with_globals(compute_op, name, HAS_RAISED=has_raised, WRONG_AXES=wrong_axes, **values)
        function = numba.cfunc(void(intp, intp), cache=IS_CACHED)(compiled)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))  # TensorFlow keeps the address for ever
        return function.address

    def add_op(self, name, address, signature):
        """Register an op, its kernel for CPUs and GPUs with all tensors in the memory of the host, and its gradient."""
        op, status = call_c("TF_NewOpDefinitionBuilder", name.encode()), call_c("TF_NewStatus")
        inputs = [f"input_{place}: {dtype}".encode() for place, (dtype, _) in enumerate(signature)]
        outputs = [f"output_{place}: {dtype}".encode() for place, (dtype, _) in enumerate(self.outputs)]
        for one in inputs:
            call_c("TF_OpDefinitionBuilderAddInput", op, one)
        for one in outputs:
            call_c("TF_OpDefinitionBuilderAddOutput", op, one)
        # The sizes that are known are declared by `__call__`.
        unknown = ctypes.cast(ctypes.CDLL(TF_LIBRARY).TF_ShapeInferenceContextSetUnknownShape, ctypes.c_void_p).value
        call_c("TF_OpDefinitionBuilderSetShapeInferenceFunction", op, unknown)
        call_c("TF_RegisterOpDefinition", op, status)
        check_status(status)
        for device in (b"CPU", b"GPU"):
            kernel = call_c("TF_NewKernelBuilder", name.encode(), device, None, address, None)
            for one in [*inputs, *outputs] if device == b"GPU" else []:
                call_c("TF_KernelBuilder_HostMemory", kernel, one.partition(b":")[0])
            call_c("TF_RegisterKernelBuilder", name.encode(), kernel, status)
            check_status(status)
        call_c("TF_DeleteStatus", status)
        if self.gradient:
            tf.RegisterGradient(name)(self.differentiate)
        else:
            tf.no_gradient(name)

    def differentiate(self, op, *output_gradients):
        """Return the gradient by each input of an op."""
        gradient, by, of = self.gradient
        found = gradient(*op.inputs, *op.outputs, *(output_gradients[place] for place in of))
        found = dict(zip(by, found if len(by) > 1 else [found]))
        return [found.get(place) for place in range(len(op.inputs))]
