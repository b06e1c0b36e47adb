"""A Numba function as a TensorFlow op without Python, GIL or C++ compiler; each port has a copy of this.

TensorFlow's C API for kernels, `tensorflow/c/ops.h` and `kernels.h`, defines an op by plain C calls and takes a pointer
for its compute function; `numba.cfunc` makes such a pointer.
"""

import ctypes
import hashlib
import os
import threading
from pathlib import Path
from types import FunctionType

import llvmlite.binding
import llvmlite.ir
import numba
import numpy as np
import tensorflow as tf
from numba.core.types import BaseTuple, ExternalFunction, UniTuple, int32, int64, intp, void, voidptr
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, overload
from tensorflow.python.eager import context as eager_context
from tensorflow.python.eager import execute as eager_execute
from tensorflow.python.framework import op_def_library, op_def_registry

TF_PATH = str(next(Path(tf.sysconfig.get_lib()).glob("libtensorflow_framework.*")))
TF_C = ctypes.CDLL(TF_PATH)
for TF_NEW in (TF_C.TF_NewStatus, TF_C.TF_NewOpDefinitionBuilder, TF_C.TF_NewKernelBuilder):
    TF_NEW.restype = ctypes.POINTER(ctypes.c_byte)
TF_C.TF_Message.restype = ctypes.c_char_p
# Compiled code finds functions of this library by name. Numba could not cache code with pointers to them.
llvmlite.binding.load_library_permanently(TF_PATH)
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


def take_inputs(context, status, inputs):
    """Return inputs as a tuple of arrays, and of numbers where they have no axes, as a callback gets them."""


@overload(take_inputs)
def _take_inputs(context, status, inputs):
    def take_first(context, status, inputs):
        place, dtype, shape = inputs[0]  # the shape has a first axis of one element: without others, that is a number
        tensor = np.zeros(1, np.int64)
        TF_GetInput(context, place, tensor.ctypes.data, status)
        if TF_GetCode(status) != 0:
            raise ValueError
        axes = TF_NumDims(tensor[0])
        for axis in range(min(axes, len(shape) - 1)):
            shape = tuple_setitem(shape, axis + 1, TF_Dim(tensor[0], axis))
        data = TF_TensorData(tensor[0])
        TF_DeleteTensor(tensor[0])  # the handle alone: TensorFlow keeps the inputs while the op runs
        if axes != len(shape) - 1:
            raise ValueError
        return (numba.carray(data, shape, dtype)[0], *take_inputs(context, status, inputs[1:]))

    return take_first if len(inputs) else lambda context, status, inputs: ()


def put_outputs(context, status, returned, outputs):
    """Make what a body returns, a tuple if it is several, the outputs of the op."""


@overload(put_outputs)
def _put_outputs(context, status, returned, outputs):
    def put_first(context, status, returned, outputs):
        place, dtype, code = outputs[0]
        # Neither call copies an array that is already right; `ascontiguousarray` turns a scalar into shape (1,).
        array = np.ascontiguousarray(np.asarray(np.asarray(returned[0]), dtype))
        block, release = hold_memory(array)
        if block == 0:
            array = array.copy()
            block, release = hold_memory(array)
        sizes = np.array(array.shape)
        axes, data, size = len(np.shape(returned[0])), array.ctypes.data, array.nbytes
        tensor = TF_NewTensor(code, sizes.ctypes.data, axes, data, size, release, block)
        TF_SetOutput(context, place, tensor, status)
        TF_DeleteTensor(tensor)
        if TF_GetCode(status) != 0 or sizes.size == 0:  # never 0: read here, so that Numba does not free it before
            raise MemoryError
        put_outputs(context, status, returned[1:], outputs[1:])

    if not isinstance(returned, BaseTuple):
        return lambda context, status, returned, outputs: put_outputs(context, status, (returned,), outputs)
    return put_first if len(returned) else lambda context, status, returned, outputs: None


def compile_body(body, inputs, outputs):
    """Return a compiled function that calls the body of an op, and returns False if it raises."""

    @numba.njit
    def run(context, status):
        put_outputs(context, status, body(*take_inputs(context, status, inputs)), outputs)

    @numba.njit
    def try_to_run(context, status):
        try:  # around more, it makes Numba's compiler recurse without end
            run(context, status)
        except Exception:
            return False
        return True

    return try_to_run


def compute_op(kernel, context):
    """Do what TensorFlow's runtime expects of a kernel. Names in capitals are globals that `NumbaOp` adds."""
    status = TF_NewStatus()
    if not RUN(context, status):
        TF_SetStatus(status, 3, FAILURE.ctypes.data)  # INVALID_ARGUMENT
        TF_OpKernelContext_Failure(context, status)
    TF_DeleteStatus(status)


class NumbaOp:
    """A TensorFlow op that runs a body, for one combination of dtypes and numbers of axes."""

    lock = threading.RLock()

    def __init__(self, body, inputs, outputs, gradient=None):
        """Register the op, so that a SavedModel that has it can be loaded.

        Args:
            body: a function that Numba has compiled, without closure.
            inputs: dtype and number of axes of each input.
            outputs: dtype of each output, and for each axis None, or an input and an axis of it that has the same size.
            gradient: None, or the op of the gradient, of inputs, outputs and gradients by outputs; positions of the
                inputs that it is by; positions of the outputs whose gradients it takes.
        """
        self.body, self.inputs, self.outputs, self.gradient = body, inputs, outputs, gradient
        self.name = self.register()

    @tf.autograph.experimental.do_not_convert
    def __call__(self, *inputs):
        """Return the output, or a list of several; an input of another dtype raises `ValueError`."""
        tensors = [tf.convert_to_tensor(one, dtype) for one, (dtype, _) in zip(inputs, self.inputs, strict=True)]
        if tf.executing_eagerly():
            found = eager_execute.execute(self.name.encode(), len(self.outputs), tensors, (), eager_context.context())
            if eager_execute.must_record_gradient():
                eager_execute.record_gradient(self.name, tensors, (), found)
        else:
            found = op_def_library.apply_op(self.name, **{f"input_{place}": one for place, one in enumerate(tensors)})
            known = [[size and tensors[size[0]].shape[size[1]] for size in sizes] for _, sizes in self.outputs]
            found = [tf.ensure_shape(*pair) for pair in zip(found if len(known) > 1 else [found], known)]
        return found if len(found) > 1 else found[0]

    def register(self):
        """Return the name of the op; register it where there is none."""
        body = self.body.py_func.__name__
        kind = repr((Path(__file__).read_bytes(), body, self.inputs, self.outputs, bool(self.gradient))).encode()
        name = f"PyopbenchPort>Numba_{body.encode('ascii', 'ignore').decode()}_{hashlib.sha256(kind).hexdigest()[:12]}"
        with self.lock:
            if op_def_registry.get(name) is None:  # not yet registered by another thread or module
                self.add_op(name)
        return name

    def add_op(self, name):
        """Register an op without known sizes, kernels for CPUs and GPUs with tensors on the host, and its gradient."""
        inputs = tuple((n, np.dtype(dtype), (1, *[0] * axes)) for n, (dtype, axes) in enumerate(self.inputs))
        dtypes = [tf.as_dtype(dtype) for dtype, _ in self.outputs]
        outputs = tuple((n, np.dtype(one.name), one.as_datatype_enum) for n, one in enumerate(dtypes))
        failure = f"{self.body.py_func.__name__} raised an exception, or its inputs are not {self.inputs}\0".encode()
        added = {"RUN": compile_body(self.body, inputs, outputs), "FAILURE": np.frombuffer(failure, np.uint8)}
        function = FunctionType(compute_op.__code__, {**globals(), **added})
        function.__qualname__ = name.partition(">")[2]  # by which Numba caches it
        compiled = numba.cfunc(void(intp, intp), cache=os.access(Path(__file__).parent, os.W_OK))(function)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(compiled))  # TensorFlow keeps the address for ever
        op, status = TF_C.TF_NewOpDefinitionBuilder(name.encode()), TF_C.TF_NewStatus()
        arguments = [("Input", f"input_{n}", dtype) for n, (dtype, _) in enumerate(self.inputs)]
        arguments += [("Output", f"output_{n}", dtype) for n, (dtype, _) in enumerate(self.outputs)]
        for side, argument, dtype in arguments:
            TF_C[f"TF_OpDefinitionBuilderAdd{side}"](op, f"{argument}: {dtype}".encode())
        TF_C.TF_OpDefinitionBuilderSetShapeInferenceFunction(op, TF_C.TF_ShapeInferenceContextSetUnknownShape)
        TF_C.TF_RegisterOpDefinition(op, status)
        for device in (b"CPU", b"GPU"):
            kernel = TF_C.TF_NewKernelBuilder(name.encode(), device, None, ctypes.c_void_p(compiled.address), None)
            for _, argument, _ in arguments if device == b"GPU" else []:
                TF_C.TF_KernelBuilder_HostMemory(kernel, argument.encode())
            if TF_C.TF_GetCode(status) == 0:
                TF_C.TF_RegisterKernelBuilder(name.encode(), kernel, status)
        if TF_C.TF_GetCode(status) != 0:
            raise RuntimeError(TF_C.TF_Message(status).decode())
        TF_C.TF_DeleteStatus(status)
        tf.RegisterGradient(name)(self.differentiate)

    def differentiate(self, op, *output_gradients):
        """Return the gradient by each input of an op."""
        if self.gradient is None:
            return [None] * len(op.inputs)
        gradient, by, of = self.gradient
        found = gradient(*op.inputs, *op.outputs, *(output_gradients[place] for place in of))
        found = dict(zip(by, found if len(by) > 1 else [found]))
        return [found.get(place) for place in range(len(op.inputs))]
