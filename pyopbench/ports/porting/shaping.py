"""NumPy's functions that put arrays together and change shapes, as TensorFlow's."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import joined


def _shape(given: Given, node: ast.expr) -> str:
    """Return a shape as a list; one number stands for itself."""
    code = given.code
    if isinstance(node, ast.Tuple | ast.List):
        return f"[{', '.join(code.write(one) for one in node.elts)}]"
    text = code.write(node)
    return text if any(one.kind == "sequence" for one in code.seen(node)) else f"[{text}]"


@written("np.reshape", "a *shape")
def reshape(given: Given) -> str:
    """Return the elements in another shape."""
    return f"tf.reshape({given.code.tensor(given['a'])}, {_shape(given, given['shape'])})"


@written("np.ravel np.flatten", "a")
def ravel(given: Given) -> str:
    """Return the elements in a row."""
    return f"tf.reshape({given.code.tensor(given['a'])}, [-1])"


@written("np.transpose", "a *axes")
def transpose(given: Given) -> str:
    """Return the axes in another order."""
    axes = given.get("axes")
    return f"tf.transpose({joined([given.code.tensor(given['a']), '' if axes is None else _shape(given, axes)])})"


@written("np.swapaxes np.moveaxis", "a first second")
def move(given: Given) -> str:
    """Return the array with axes in other places."""
    places = (given.code.write(given[one]) for one in ("first", "second"))
    return f"tf.experimental.numpy.{given.name.removeprefix('np.')}({joined([given.code.tensor(given['a']), *places])})"


@written("np.expand_dims", "a axis")
def expand_dims(given: Given) -> str:
    """Return the array with one more axis."""
    return f"tf.expand_dims({given.code.tensor(given['a'])}, axis={given.code.write(given['axis'])})"


@written("np.squeeze", "a axis")
def squeeze(given: Given) -> str:
    """Return the array without axes of one element."""
    return f"tf.squeeze({joined([given.code.tensor(given['a']), given.option('axis')])})"


@written("np.concatenate", "arrays axis")
def concatenate(given: Given) -> str:
    """Return arrays one behind the other."""
    axis = "axis=0" if given.get("axis") is None else given.option("axis")
    return f"tf.concat({given.code.items(given['arrays'], given.dtype)}, {axis})"


@written("np.stack", "arrays axis")
def stack(given: Given) -> str:
    """Return arrays along a new axis."""
    return f"tf.stack({joined([given.code.items(given['arrays'], given.dtype), given.option('axis')])})"


@written("np.hstack np.vstack np.dstack np.column_stack", "arrays")
def stacked(given: Given) -> str:
    """Return arrays beside each other."""
    code, node, rank = given.code, given["arrays"], given.code.rank(given["arrays"]) - 1
    items = code.items(node, given.dtype)
    if given.name == "np.hstack":
        return f"tf.concat({items}, axis={0 if rank == 1 else 1})"
    if given.name == "np.vstack":
        return f"tf.stack({items})" if rank == 1 else f"tf.concat({items}, axis=0)"
    if given.name == "np.column_stack":
        return f"tf.stack({items}, axis=1)" if rank == 1 else f"tf.concat({items}, axis=1)"
    if rank == 2:
        return f"tf.stack({items}, axis=2)"
    raise code.refusal(given.node, f"`{given.name}` of arrays with {rank} axes is not written")


@written("np.append", "a values axis")
def append(given: Given) -> str:
    """Return an array with more behind it."""
    code, dtype = given.code, given.dtype
    a, b = code.tensor(given["a"], dtype), code.tensor(given["values"], dtype)
    if given.get("axis") is not None:
        return f"tf.concat([{a}, {b}], {given.option('axis')})"
    parts = [
        text if code.rank(node) == 1 else f"tf.reshape({text}, [-1])"
        for node, text in ((given["a"], a), (given["values"], b))
    ]
    return f"tf.concat([{', '.join(parts)}], axis=0)"


@written("np.repeat", "a repeats axis")
def repeat(given: Given) -> str:
    """Return elements several times each."""
    code = given.code
    return f"tf.repeat({joined([code.tensor(given['a']), code.write(given['repeats']), given.option('axis')])})"


@written("np.tile", "a reps")
def tile(given: Given) -> str:
    """Return an array several times over."""
    return f"tf.experimental.numpy.tile({given.code.tensor(given['a'])}, {given.code.write(given['reps'])})"


@written("np.roll", "a shift axis")
def roll(given: Given) -> str:
    """Return elements moved around."""
    if given.get("axis") is None and given.code.rank(given["a"]) != 1:
        raise given.code.refusal(given.node, "`np.roll` over all axes is not written", "give it an axis")
    axis = "0" if given.get("axis") is None else given.code.write(given["axis"])
    return f"tf.roll({given.code.tensor(given['a'])}, {given.code.write(given['shift'])}, axis={axis})"


@written("np.flip np.fliplr np.flipud", "a axis")
def flip(given: Given) -> str:
    """Return elements in reverse order."""
    axis = {"np.fliplr": "1", "np.flipud": "0"}.get(given.name)
    if axis is None:
        node = given.get("axis")
        axis = ", ".join(map(str, range(given.code.rank(given["a"])))) if node is None else given.code.write(node)
    return f"tf.reverse({given.code.tensor(given['a'])}, axis=[{axis}])"


@written("np.pad", "a width mode | constant_values")
def pad(given: Given) -> str:
    """Return an array with a margin."""
    code, mode = given.code, given.get("mode")
    name = mode.value if isinstance(mode, ast.Constant) else "constant"
    if name not in ("constant", "reflect", "symmetric", "edge"):
        raise code.refusal(given.node, f"`np.pad(..., mode={name!r})` has no counterpart in TensorFlow")
    width = code.write(given["width"])
    if code.rank(given["width"]) < 2:
        width = f"np.broadcast_to({width}, ({code.rank(given['a'])}, 2))"
    if name == "edge":
        code.use("_padded_with_edge")
        code.fixed_shapes = True
        return f"_padded_with_edge({code.tensor(given['a'])}, {width})"
    parts = [code.tensor(given["a"]), width, "" if name == "constant" else f'mode="{name.upper()}"']
    return f"tf.pad({joined([*parts, given.option('constant_values')])})"


@written("np.broadcast_to", "a shape")
def broadcast_to(given: Given) -> str:
    """Return an array of a larger shape."""
    return f"tf.broadcast_to({given.code.tensor(given['a'])}, {given.code.write(given['shape'])})"


@written("np.array np.asarray np.ascontiguousarray np.asanyarray", "a dtype | copy")
def array(given: Given) -> str:
    """Return a tensor of what NumPy makes an array of."""
    return given.code.tensor(given["a"], given.dtype)


@written("np.copy", "a")
def copy(given: Given) -> str:
    """Return the array itself: nothing writes to a tensor."""
    text = given.code.tensor(given["a"])
    return f"tf.identity({text})" if isinstance(given["a"], ast.Name) else text


@written("np.zeros_like np.ones_like np.empty_like", "a dtype")
def like(given: Given) -> str:
    """Return zeros or ones in the shape of an array."""
    name = "ones_like" if "ones" in given.name else "zeros_like"
    if not given.code.is_tensor(given.node):  # its shape alone is taken, which is known
        given.code.fixed_shapes = True
        return f"np.{name.removesuffix('_like')}(tuple({given.code.atom(given['a'])}.shape), np.{given.dtype})"
    own = given.code.dtype(given["a"]) == given.dtype
    return f"tf.{name}({joined([given.code.tensor(given['a']), '' if own else f'dtype=tf.{given.dtype}'])})"


@written("np.full_like", "a value dtype")
def full_like(given: Given) -> str:
    """Return one value in the shape of an array."""
    return f"tf.fill(tf.shape({given.code.tensor(given['a'])}), {given.code.tensor(given['value'], given.dtype)})"


@written("np.zeros np.ones np.empty", "shape dtype")
def filled(given: Given) -> str:
    """Return zeros or ones in a shape of which a size is a tensor."""
    name = "ones" if "ones" in given.name else "zeros"
    return f"tf.{name}({_shape(given, given['shape'])}, tf.{given.dtype})"


@written("np.full", "shape value dtype")
def full(given: Given) -> str:
    """Return one value in a shape."""
    return f"tf.fill({_shape(given, given['shape'])}, {given.code.tensor(given['value'], given.dtype)})"


@written("np.arange", "start stop step dtype")
def arange(given: Given) -> str:
    """Return numbers in even steps."""
    dtype = given.dtype
    parts = [given.code.tensor(node, dtype) for name in ("start", "stop", "step") if (node := given.get(name))]
    return f"tf.range({joined(parts)})"


@written("np.meshgrid", "x y z | indexing")
def meshgrid(given: Given) -> str:
    """Return grids of coordinates."""
    parts = [given.code.tensor(node) for name in ("x", "y", "z") if (node := given.get(name))]
    return f"tf.meshgrid({joined([*parts, given.option('indexing')])})"


@written("np.ndim", "a")
def ndim(given: Given) -> str:
    """Return the number of axes."""
    return f"{given.code.atom(given['a'])}.shape.rank"


@written("np.shape", "a")
def shape(given: Given) -> str:
    """Return the shape."""
    given.code.fixed_shapes = True
    return f"tuple({given.code.atom(given['a'])}.shape)"
