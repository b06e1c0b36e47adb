"""All of an op in C++ but its loops: its registration, shapes and gradient, and the Python that loads it.

https://www.tensorflow.org/guide/create_op has what each part is for.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from pyopbench.ports.porting.facts import Facts, docstring
from pyopbench.ports.porting.refusal import CannotPort

TYPES = {
    "float16": ("half", "Eigen::half"),
    "float32": ("float", "float"),
    "float64": ("double", "double"),
    "int8": ("int8", "int8_t"),
    "int16": ("int16", "int16_t"),
    "int32": ("int32", "int32_t"),
    "int64": ("int64", "int64_t"),
    "uint8": ("uint8", "uint8_t"),
    "uint16": ("uint16", "uint16_t"),
    "uint32": ("uint32", "uint32_t"),
    "uint64": ("uint64", "uint64_t"),
    "bool": ("bool", "bool"),
    "complex64": ("complex64", "std::complex<float>"),
    "complex128": ("complex128", "std::complex<double>"),
}
"""TensorFlow's name of a dtype where an op is registered, and that of C++."""

PREFIX = "Ported"
"""Before the name of an op, because TensorFlow has many names, and refuses one that is taken."""

NOT_IN_CPP = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "consteval", "constexpr", "constinit", "const_cast", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
    "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
    "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "name", "context", "std", "tensorflow",
}  # fmt: skip
"""Names that an input of the C++ cannot have: those of C++, and `name`, which TensorFlow's Python function takes."""

OURS = re.compile(r"(output|input)(_\d+)?|d_.*|.*_(tensor|shape)")
"""Names that the skeleton may have for something else."""

KERNEL = """// {summary}
//
// What is missing is between allocate_output() and the error behind it{in_each}. Then build it:
//
//     {build}
//
// The function that it replaces, of {file}:
//
{old}
#include <complex>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {{

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

{classes}
{registrations}
}}  // namespace
"""

CLASS = """class {name} : public OpKernel {{
 public:
  explicit {name}(OpKernelConstruction* construction) : OpKernel(construction) {{}}

  void Compute(OpKernelContext* context) override {{
{body}
    context->CtxFailure(tensorflow::errors::Unimplemented("{name} is not written yet"));
  }}
}};
"""


@dataclass(frozen=True)
class Texts:
    """The text of the Python module and of the C++ that it loads."""

    port: str
    kernel: str


@dataclass(frozen=True)
class Given:
    """A tensor that an op takes or returns.

    Attributes:
        name: in lower case, as TensorFlow wants it.
        dtype: NumPy's name.
        sizes: of each axis the input and the axis of it that are as long, None where that is not known.
    """

    name: str
    dtype: str
    sizes: tuple[tuple[int, int] | None, ...]


def build_command(module: str) -> str:
    """Return the command line that builds a module's C++ beside it; of another name, or Python would import that."""
    flags = "print(*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags())"
    return f"g++ -O3 -fPIC -shared {module}.cc -o lib{module}.so $(python -c 'import tensorflow as tf; {flags}')"


def texts(facts: Facts, old: str, doc: str, module: str) -> Texts:
    """Return the skeleton of an op.

    Args:
        facts: what it takes and returns.
        old: the source of the body.
        doc: its docstring.
        module: the name of the module.

    Raises:
        CannotPort: a dtype has no name in C++.
    """
    inputs, outputs = _inputs(facts), _outputs(facts)
    kind = PREFIX + "".join(word.capitalize() for word in re.findall("[A-Za-z0-9]+", facts.function))
    ops = [(kind, inputs, outputs)]
    if facts.differentiable:
        ops.append((f"{kind}Gradient", *_of_gradient(facts, inputs, outputs)))
    kernel = KERNEL.format(
        summary=f"`{facts.function}` of {facts.file} as an op of TensorFlow's in C++.",
        in_each=" in both kernels" if facts.differentiable else "",
        build=build_command(module),
        file=facts.file,
        old=textwrap.indent(old, "//     ", lambda line: True),
        classes="\n".join(_class(*one) for one in ops),
        registrations="\n".join(_registration(*one) for one in ops),
    )
    return Texts(_python(facts, kind, doc, module), kernel)


def _inputs(facts: Facts) -> list[Given]:
    found: list[Given] = []
    for place, (name, dtype, rank) in enumerate(facts.inputs):
        lower = name.lower()
        is_free = not OURS.fullmatch(lower) and lower not in NOT_IN_CPP | {one.name for one in found}
        is_good = is_free and re.fullmatch(r"[a-z][a-z0-9_]*", lower)
        found.append(Given(lower if is_good else f"input_{place}", dtype, tuple((place, axis) for axis in range(rank))))
    return found


def _outputs(facts: Facts) -> list[Given]:
    known = {
        f"{name}.shape[{axis}]": (place, axis)
        for place, (name, _, rank) in enumerate(facts.inputs)
        for axis in range(rank)
    }
    one = len(facts.outputs) == 1
    return [
        Given("output" if one else f"output_{place}", dtype, tuple(known.get(size or "") for size in shape))
        for place, (dtype, shape) in enumerate(facts.outputs)
    ]


def _of_gradient(facts: Facts, inputs: list[Given], outputs: list[Given]) -> tuple[list[Given], list[Given]]:
    incoming = [
        Given(f"d_{outputs[place].name}", outputs[place].dtype, outputs[place].sizes) for place in facts.floating
    ]
    found = [
        Given(f"d_{inputs[place].name}", inputs[place].dtype, inputs[place].sizes) for place in facts.differentiable
    ]
    return [*inputs, *incoming], found


def _class(kind: str, inputs: list[Given], outputs: list[Given]) -> str:
    lines = []
    for place, one in enumerate(inputs):
        rank = len(one.sizes)
        told = f'tensorflow::errors::InvalidArgument("{one.name} has to have {rank} axes")'
        lines += [
            f"const Tensor& {one.name}_tensor = context->input({place});",
            f"OP_REQUIRES(context, {one.name}_tensor.dims() == {rank}, {told});",
            f"const auto {one.name} = {one.name}_tensor.tensor<{_type(one)[1]}, {rank}>();",
        ]
    for place, one in enumerate(outputs):
        sizes = ", ".join(f"{inputs[size[0]].name}_tensor.dim_size({size[1]})" if size else "0" for size in one.sizes)
        unknown = "  // 0: write how long it is" if None in one.sizes else ""
        lines += [
            f"Tensor* {one.name}_tensor = nullptr;",
            f"const TensorShape {one.name}_shape({{{sizes}}});{unknown}",
            f"OP_REQUIRES_OK(context, context->allocate_output({place}, {one.name}_shape, &{one.name}_tensor));",
            f"auto {one.name} = {one.name}_tensor->tensor<{_type(one)[1]}, {len(one.sizes)}>();",
        ]
    first = outputs[0]
    at = ", ".join("ijklmnop"[: len(first.sizes)])
    lines += ["", f"// Write the loops here: {first.name}({at}) = ...; and leave out the next line."]
    return CLASS.format(name=f"{kind}Op", body="\n".join(f"    {line}" if line else "" for line in lines))


def _type(given: Given) -> tuple[str, str]:
    if given.dtype not in TYPES:
        raise CannotPort(f"`{given.name}` is {given.dtype}, which has no name in the C++ that is written")
    return TYPES[given.dtype]


def _registration(kind: str, inputs: list[Given], outputs: list[Given]) -> str:
    lines = [f'REGISTER_OP("{kind}")']
    lines += [f'    .Input("{one.name}: {_type(one)[0]}")' for one in inputs]
    lines += [f'    .Output("{one.name}: {_type(one)[0]}")' for one in outputs]
    lines += ["    .SetShapeFn([](InferenceContext* shapes) {", f"      ShapeHandle input[{max(len(inputs), 1)}];"]
    for place, one in enumerate(inputs):
        rank = f"shapes->WithRank(shapes->input({place}), {len(one.sizes)}, &input[{place}])"
        lines.append(f"      TF_RETURN_IF_ERROR({rank});")
    for place, one in enumerate(outputs):
        sizes = [f"shapes->Dim(input[{size[0]}], {size[1]})" if size else "shapes->UnknownDim()" for size in one.sizes]
        made = f"shapes->MakeShape({{{', '.join(sizes)}}})" if sizes else "shapes->Scalar()"
        lines.append(f"      shapes->set_output({place}, {made});")
    lines += ["      return tensorflow::Status();", "    });"]
    lines.append(f'REGISTER_KERNEL_BUILDER(Name("{kind}").Device(tensorflow::DEVICE_CPU), {kind}Op);\n')
    return "\n".join(lines)


def _python(facts: Facts, kind: str, doc: str, module: str) -> str:
    """Return the module that loads the library and registers the gradient."""
    # As TensorFlow names the function of an op: python_op_gen_internal.cc, GenerateLowerCaseOpName.
    function = re.sub("(?<=[a-z])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", "_", kind).lower()
    names = ", ".join(name for name, _, _ in facts.inputs)
    how = f"`{facts.function}` of {facts.file}, as the op that {module}.cc is."
    several = ", ".join(f"gradients[{place}]" for place in range(len(facts.outputs)) if place in facts.floating)
    by_input = [
        f"found[{facts.differentiable.index(place)}]" if place in facts.differentiable else "None"
        for place in range(len(facts.inputs))
    ]
    is_one = len(facts.differentiable) == 1
    gradient = f'''

@tf.RegisterGradient("{kind}")
def _gradient(op, *gradients):
    """Return the gradient by each input, computed by the op for that."""
    found = {"[" if is_one else ""}_LIBRARY.{function}_gradient(*op.inputs, {several}){"]" if is_one else ""}
    return [{", ".join(by_input)}]
'''
    call = f"_LIBRARY.{function}({names})"
    file = facts.file.replace("\\", "\\\\")
    return f'''"""`{facts.function}` of {file} as an op in C++.

{module}.cc is built once for each version of TensorFlow, by

    {build_command(module)}
"""

from pathlib import Path

import tensorflow as tf

_LIBRARY = tf.load_op_library(str(Path(__file__).with_name("lib{module}.so")))
{gradient if facts.differentiable else ""}

def {facts.function}({names}):
    {docstring(doc, facts, how, [])}
    return {call if len(facts.outputs) == 1 else f"tuple({call})"}
'''
