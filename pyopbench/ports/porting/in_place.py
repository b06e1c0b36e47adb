"""Calls that stand alone and write to an array, as statements that bind its name to a new tensor."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.typed import TypedCode

SCATTERS = {"np.add": "add", "np.subtract": "sub", "np.maximum": "max", "np.minimum": "min"}


def write_statement(code: TypedCode, call: ast.Call) -> str | None:
    """Return a call that writes to an array which is, or becomes, a tensor; None for any other."""
    function = call.func
    if isinstance(function, ast.Attribute):
        if function.attr == "at" and name_of(code.value_of(function.value)) in SCATTERS:
            return _scatter(code, call, SCATTERS[name_of(code.value_of(function.value))])
        if code.is_tensor(function.value) and function.attr in ("fill", "sort"):
            name = _name(code, function.value)
            if function.attr == "fill":
                dtype = code.dtype(function.value)
                return f"{name} = tf.fill(tf.shape({name}), {code.tensor(call.args[0], dtype)})"
            axis = "".join(f", axis={code.write(one)}" for one in call.args)
            return f"{name} = tf.sort({name}{axis})"
    named = name_of(code.value_of(function))
    if named == "np.fill_diagonal" and code.is_tensor(call.args[0]):
        name, dtype = _name(code, call.args[0]), code.dtype(call.args[0])
        value = code.tensor(call.args[1], dtype)
        return f"{name} = tf.linalg.set_diag({name}, tf.fill(tf.shape({name})[:1], {value}))"
    if named in ("np.copyto", "np.put", "np.putmask", "np.place") and any(map(code.holds_tensors, call.args)):
        raise code.refusal(call, f"`{named}` has no counterpart in TensorFlow", "assign to elements")
    return None


def _name(code: TypedCode, node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise code.refusal(node, f"`{ast.unparse(node)}` is written to, and is not a variable", "give it a name")
    return node.id


def _scatter(code: TypedCode, call: ast.Call, function: str) -> str | None:
    """Return `np.add.at(x, places, values)`."""
    array, places, values = call.args
    if not any(map(code.holds_tensors, call.args)):
        return None
    name, dtype = _name(code, array), code.dtype(array)
    several = places.elts if isinstance(places, ast.Tuple) else [places]
    if any(isinstance(one, ast.Slice) or not code.rank(one) for one in several):
        raise code.refusal(call, "`.at` is supported with arrays of indices only")
    stacked = ", ".join(code.tensor(one, "int64") for one in several)
    given = code.tensor(values, dtype)
    if not code.rank(values):
        given = f"tf.fill(tf.shape({code.write(several[0])}), {given})"
    return f"{name} = tf.tensor_scatter_nd_{function}({name}, tf.stack([{stacked}], axis=-1), {given})"
