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
    return text if any(one.kind == "sequence" or one.rank for one in code.seen(node)) else f"[{text}]"


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


def _is_one_axis(given: Given) -> bool:
    """Is the axis given as a number?"""
    return isinstance(given.get("axis"), ast.Constant | ast.UnaryOp)


@written("np.expand_dims", "a axis")
def expand_dims(given: Given) -> str | None:
    """Return the array with one more axis."""
    if not _is_one_axis(given):
        return None
    return f"tf.expand_dims({given.code.tensor(given['a'])}, axis={given.code.write(given['axis'])})"


@written("np.squeeze", "a axis")
def squeeze(given: Given) -> str:
    """Return the array without axes of one element."""
    return f"tf.squeeze({joined([given.code.tensor(given['a']), given.option('axis')])})"


@written("np.concatenate", "arrays axis | dtype")
def concatenate(given: Given) -> str:
    """Return arrays one behind the other."""
    if given.get("axis") is None and "axis" in given.by_name:
        items = given.code.items(given["arrays"], given.dtype)
        return f"tf.concat([tf.reshape(item, [-1]) for item in {items}], axis=0)"
    axis = "axis=0" if given.get("axis") is None else given.option("axis")
    return f"tf.concat({given.code.items(given['arrays'], given.dtype)}, {axis})"


@written("np.stack", "arrays axis")
def stack(given: Given) -> str:
    """Return arrays along a new axis."""
    return f"tf.stack({joined([given.code.items(given['arrays'], given.dtype), given.option('axis')])})"


@written("np.hstack np.vstack np.dstack np.column_stack", "arrays")
def stacked(given: Given) -> str | None:
    """Return arrays beside each other."""
    code, node, rank = given.code, given["arrays"], given.code.rank(given["arrays"]) - 1
    items = code.items(node, given.dtype)
    if rank == 0:
        return None
    if given.name == "np.hstack":
        return f"tf.concat({items}, axis={0 if rank == 1 else 1})"
    if given.name == "np.vstack":
        return f"tf.stack({items})" if rank == 1 else f"tf.concat({items}, axis=0)"
    if given.name == "np.column_stack":
        return f"tf.stack({items}, axis=1)" if rank == 1 else f"tf.concat({items}, axis=1)"
    return f"tf.stack({items}, axis=2)" if rank == 2 else None


@written("np.repeat", "a repeats axis")
def repeat(given: Given) -> str:
    """Return elements several times each."""
    code = given.code
    return f"tf.repeat({joined([code.tensor(given['a']), code.write(given['repeats']), given.option('axis')])})"


@written("np.roll", "a shift axis")
def roll(given: Given) -> str | None:
    """Return elements moved around."""
    if not _is_one_axis(given) and (given.get("axis") is not None or given.code.rank(given["a"]) != 1):
        return None
    axis = "0" if given.get("axis") is None else given.code.write(given["axis"])
    return f"tf.roll({given.code.tensor(given['a'])}, {given.code.write(given['shift'])}, axis={axis})"


@written("np.flip np.fliplr np.flipud", "a axis")
def flip(given: Given) -> str | None:
    """Return elements in reverse order."""
    axis = {"np.fliplr": "1", "np.flipud": "0"}.get(given.name)
    if axis is None:
        node = given.get("axis")
        if node is not None and not _is_one_axis(given):
            return None
        axis = ", ".join(map(str, range(given.code.rank(given["a"])))) if node is None else given.code.write(node)
    return f"tf.reverse({given.code.tensor(given['a'])}, axis=[{axis}])"


@written("np.pad", "a width")
def pad(given: Given) -> str | None:
    """Return an array with a margin of zeros."""
    code = given.code
    if code.rank(given["width"]) < 2 or given.dtype == "bool":
        return None
    return f"tf.pad({code.tensor(given['a'])}, {code.write(given['width'])})"


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
        return f"np.{name.removesuffix('_like')}(tuple({given.code.atom(given['a'])}.shape), np.{given.dtype})"
    own = given.code.dtype(given["a"]) == given.dtype
    return f"tf.{name}({joined([given.code.tensor(given['a']), '' if own else f'dtype=tf.{given.dtype}'])})"


@written("np.zeros np.ones np.empty", "shape dtype")
def filled(given: Given) -> str:
    """Return zeros or ones in a shape of which a size is a tensor."""
    name = "ones" if "ones" in given.name else "zeros"
    return f"tf.{name}({_shape(given, given['shape'])}, tf.{given.dtype})"


@written("np.full", "shape fill_value dtype")
def full(given: Given) -> str:
    """Return one value in a shape."""
    return f"tf.fill({_shape(given, given['shape'])}, {given.code.tensor(given['fill_value'], given.dtype)})"


@written("np.arange", "start stop step dtype")
def arange(given: Given) -> str:
    """Return numbers in even steps."""
    dtype = given.dtype
    parts = [given.code.tensor(node, dtype) for name in ("start", "stop", "step") if (node := given.get(name))]
    return f"tf.range({joined(parts)})"


@written("np.ndim", "a")
def ndim(given: Given) -> str:
    """Return the number of axes."""
    return f"{given.code.atom(given['a'])}.shape.rank"


@written("np.shape", "a")
def shape(given: Given) -> str:
    """Return the shape."""
    return f"tuple({given.code.use('np_known_sizes')}({given.code.atom(given['a'])}))"


@written("np.size", "a axis")
def size(given: Given) -> str | None:
    """Return the number of elements."""
    if given.get("axis") is not None:
        return None
    text = given.code.atom(given["a"])
    if given.code.is_tensor(given.node):
        return f"tf.size({text}, tf.int64)"
    return f"int(np.prod({given.code.use('np_known_sizes')}({text})))"
