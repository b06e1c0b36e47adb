"""A body on text as TensorFlow's source: Python's text, lists and tables as tensors, tables and loops of the graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyopbench.model.function_source import has_unpacked
from pyopbench.model.source_text import parts_of
from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting import grown_lists
from pyopbench.ports.porting.control_flow import is_bound_before
from pyopbench.ports.porting.kinds import Kind, dtype_of_kind, merged
from pyopbench.ports.porting.observe import OTHER, SEQUENCE, TENSOR, Seen
from pyopbench.ports.porting.tensor_code import TensorCode
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.porting.watching import names_bound
from pyopbench.ports.text import calls, operations


class TextCode(TensorCode):
    """Writes functions of text as functions of tensors.

    Text is a tensor of `tf.string`, a list whose length depends on an input is a tensor, and any other list stays one.

    Attributes:
        vectors: names of which a line is written for all items at once, and what stands for them.
    """

    lists_are_tensors = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.vectors: dict[str, str] = {}
        self.growing: set[str] = set()
        self.names: dict[int, dict[str, list[ast.Name]]] = {}

    # What things are.

    def kind(self, node: ast.AST) -> Kind | None:
        """Return the kind that an expression had in Python; None if it was never evaluated.

        Raises:
            CannotPort: it had several kinds, such as text once and a number another time.
        """
        seen = {one.kind_in_python for one in self.observed.of(self.source, node)} - {None}
        if not seen and isinstance(node, ast.Name):
            # A line that no example reached uses the names of lines that were reached.
            of_name = {kind for one in self._reads(node.id) if (kind := self.kind(one)) is not None}
            return merged(of_name) if of_name else None
        found = merged(seen) if seen else None  # type: ignore[arg-type]
        if seen and found is None:
            names = " and ".join(sorted({one.dtype or one.name for one in seen}))  # type: ignore[union-attr]
            why = f"`{ast.unparse(node)}` is of several kinds: {names}"
            raise self.refusal(node, why, "use a separate name for each")
        return found

    def _reads(self, name: str, unit: Unit | None = None) -> list[ast.Name]:
        """Return where a function reads or binds a local name that something is known about."""
        unit = unit or self.unit
        if unit is None:
            return []
        if id(unit.node) not in self.names:
            found = self.names[id(unit.node)] = {}
            for one in ast.walk(unit.node):
                if isinstance(one, ast.Name) and self.observed.of(unit.source, one):
                    found.setdefault(one.id, []).append(one)
        return self.names[id(unit.node)].get(name, [])

    def seen(self, node: ast.AST) -> set[Seen]:
        """Return an expression as observed: a list whose length depends on an input in any line is a tensor."""
        found = super().seen(node)
        if not any(one.kind == SEQUENCE for one in found) or not self.is_dynamic(node):
            return found
        kind = self.kind(node)
        dtype = dtype_of_kind(kind.leaf) if kind is not None else ""
        depth = kind.depth if kind is not None else 0
        return {Seen(TENSOR, dtype, depth, None, (None,) * depth)} if dtype else {Seen(OTHER)}

    def text_kind(self, node: ast.AST) -> str:
        """Return `str` or `bytes` of text or an array or list of it; empty for anything else."""
        kind = self.kind(node)
        leaf = kind.leaf if kind is not None else None
        if leaf is None:
            return ""
        return leaf.name if leaf.is_text else leaf.text

    def dtype(self, node: ast.expr) -> str:
        """Return the dtype that NumPy gives an expression, or the items of a list."""
        kind = self.kind(node)
        return (dtype_of_kind(kind.leaf) if kind is not None else "") or super().dtype(node)

    def depends(self, node: ast.AST | None) -> bool:
        """Does an expression depend on an input, or a name in any of its lines?"""
        if node is None or isinstance(node, ast.Constant):
            return False
        if isinstance(node, ast.Name):
            return self.name_depends(node.id)
        found = self.observed.of(self.source, node)
        if found:
            return any(map(_depends, found))
        return any(self.depends(one) for one in parts_of(node) if isinstance(one, ast.expr))

    def name_depends(self, name: str, unit: Unit | None = None) -> bool:
        """Does a local name depend on an input, in any line of the function?"""
        return any(_depends(seen) for one in self._reads(name, unit) for seen in self.observed.of(self.source, one))

    def name_is_dynamic(self, name: str, unit: Unit | None = None) -> bool:
        """Is a local name a list whose length depends on an input, in any line of the function?"""
        return any(seen.grows for one in self._reads(name, unit) for seen in self.observed.of(self.source, one))

    def is_dynamic(self, node: ast.AST) -> bool:
        """Is it a list whose length depends on an input?"""
        kind = self.kind(node)
        if kind is None or not kind.is_sequence:
            return False
        if isinstance(node, ast.Name):
            return self.name_is_dynamic(node.id)
        return any(one.grows for one in self.observed.of(self.source, node))

    def chooses(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        """Does the number of items of a comprehension depend on an input?"""
        return any(self.is_long(one.iter) or any(map(self.depends, one.ifs)) for one in node.generators)

    def is_static_list(self, node: ast.AST) -> bool:
        """Is it a list that stays one of Python's?"""
        kind = self.kind(node)
        return kind is not None and kind.is_sequence and not self.is_dynamic(node)

    def unit_of(self, node: ast.AST) -> str:
        """Return what TensorFlow counts of a text: characters of `str`, bytes of `bytes`."""
        return "UTF8_CHAR" if self.text_kind(node) == "str" else "BYTE"

    def constant(self, node: ast.AST | None) -> Any:
        """Return the value of an expression that depends on no input; `...` if it is not known while porting."""
        if node is None or self.depends(node):
            return ...
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            pass
        if isinstance(node, ast.Name | ast.Attribute):
            found = self.value_of(node)
            return ... if found is None else found
        return ...

    def value_of(self, node: ast.AST) -> Any:
        """Return what `name` or `module.name` means in the file, also of a parameter that is always given a table."""
        found = super().value_of(node)
        name = self._table_given(node) if found is None and isinstance(node, ast.Name) else ""
        return self.units.value(self.source, name) if name else found

    def _table_given(self, name: ast.Name) -> str:
        """Return the constant that a parameter of a helper is in all of its calls; empty for anything else."""
        function = None if self.unit is None else self.unit.node
        if self.unit is None or not isinstance(function, ast.FunctionDef) or self.depends(name):
            return ""
        parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        of_name = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name.id]
        if name.id not in parameters or any(not isinstance(one.ctx, ast.Load) for one in of_name):
            return ""
        units = [one for one in self.units.in_order() if self.unit.name in one.reads]
        nodes = [one for unit in units for one in ast.walk(unit.node)]
        calls = [one for one in nodes if isinstance(one, ast.Call) and self._is_of_name(one.func, self.unit.name)]
        if len(calls) < sum(self._is_of_name(one, self.unit.name) for one in nodes):
            return ""  # it is given to another function
        found = {self._given_name(one, parameters, name.id) for one in calls}
        (known, *others) = found or {""}
        is_read = all(known in unit.reads for unit in units)
        value = self.units.value(self.source, known) if known and not others and is_read else None
        return known if isinstance(value, dict | list | tuple) else ""

    def _is_of_name(self, node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name

    def _given_name(self, call: ast.Call, parameters: Sequence[str], name: str) -> str:
        if has_unpacked(call):
            return ""
        given = dict(zip(parameters, call.args, strict=False)) | {one.arg or "": one.value for one in call.keywords}
        value = given.get(name)
        return value.id if isinstance(value, ast.Name) else ""

    # Expressions.

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the text of a node that is not written as it stands."""
        if isinstance(node, ast.Name) and node.id in self.vectors and isinstance(node.ctx, ast.Load):
            return self.vectors[node.id]
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (table := self._table_given(node)):
            return table
        if isinstance(node, ast.Name) and node.id in self.growing and isinstance(node.ctx, ast.Load):
            return f"{node.id}.stack()"
        if isinstance(node, ast.expr):
            found = self._text(node)
            if found is not None:
                return found
        return super().rewrite(node)

    def _text(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call):
            return calls.write_call(self, node)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self.comprehension(node) if self.chooses(node) else None
        if not self._parts_depend(node):
            return None
        if isinstance(node, ast.SetComp | ast.DictComp | ast.Dict | ast.Set):
            raise self.refusal(node, f"`{ast.unparse(node)}` is a set or dict that depends on an input", "use a list")
        if isinstance(node, ast.BinOp):
            return operations.write_binary(self, node)
        if isinstance(node, ast.Compare):
            return operations.write_comparison(self, node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return operations.write_subscript(self, node)
        if isinstance(node, ast.JoinedStr):
            return operations.write_joined(self, node)
        if isinstance(node, ast.BoolOp) and self.vectors:
            return operations.write_all(self, node)
        if isinstance(node, ast.IfExp) and self.vectors:
            return operations.write_choices(self, node)
        if isinstance(node, ast.Lambda):
            raise self.refusal(node, "a `lambda` of a value that depends on an input", "write a comprehension")
        return None

    def _parts_depend(self, node: ast.expr) -> bool:
        return self.depends(node) or any(
            self.depends(one) for one in ast.walk(node) if isinstance(one, ast.expr) and one is not node
        )

    def tensor(self, node: ast.expr, dtype: str = "") -> str:
        """Return the text of an expression as a tensor of a dtype, by default of its own."""
        kind = self.kind(node)
        if isinstance(node, ast.Subscript) and isinstance(self.constant(node.value), dict):
            text, own = self.write(node), dtype_of_kind(kind.leaf) if kind is not None else ""
            if own != STRING:  # a row of a table is a tensor, whatever it was in Python
                return text if dtype in ("", own) else f"tf.cast({text}, tf.{dtype})"
        if kind is not None and kind.is_sequence and self.is_dynamic(node):
            own = dtype_of_kind(kind.leaf)
            if kind.depth > 1 and dtype:
                raise self.refusal(node, f"`{ast.unparse(node)}` has rows of different lengths", "pad each row")
            return self.write(node) if dtype in ("", own) else self.cast(node, own, dtype)
        if kind is not None and kind.is_sequence and kind.depth == 1 and not kind.item:
            return self.listed(node, dtype)
        if kind is not None and dtype_of_kind(kind.leaf) == STRING and dtype in ("", STRING):
            return self.strings(node)
        if dtype and kind is not None and kind.is_text:
            return self.cast(node, STRING, dtype)
        return super().tensor(node, dtype)

    def cast(self, node: ast.expr, own: str, dtype: str, text: str = "") -> str:
        """Return an expression of one dtype, by default as it is written, as another: texts as the numbers they are."""
        text = text or self.write(node)
        if own != STRING:
            return f"tf.cast({text}, tf.{dtype})"
        if dtype == "int64":
            return f"{self.use('_whole_number')}({text})"
        if dtype.startswith("float"):
            number = f"{self.use('_number')}({text})"
            return number if dtype == "float64" else f"tf.cast({number}, tf.{dtype})"
        raise self.refusal(node, f"text as {dtype} is not supported", "use int() or float()")

    def strings(self, node: ast.expr) -> str:
        """Return text, or a list of it, as a tensor."""
        kind = self.kind(node)
        if kind is not None and kind.is_sequence and isinstance(node, ast.List | ast.Tuple) and self.depends(node):
            return f"tf.stack([{', '.join(map(self.strings, node.elts))}])"
        text = self.write(node)
        if self.depends(node):
            return f"tf.stack({text})" if self.is_static_list(node) else text
        return f"tf.constant({text})"

    def listed(self, node: ast.expr, dtype: str = "") -> str:
        """Return a list as a tensor, whatever it is here, with items of a dtype."""
        kind = self.kind(node)
        leaf = kind.leaf if kind is not None else None
        own = dtype_of_kind(leaf)
        wanted = dtype or own
        if not wanted:
            raise self.refusal(
                node,
                f"`{ast.unparse(node)}` was empty in every example, so its dtype is not known",
                "add an example in which it has items",
            )
        if self.is_dynamic(node) or (kind is not None and kind.name == "array"):
            return self.write(node) if own in ("", wanted) else self.cast(node, own, wanted)
        if kind is not None and kind.is_empty and leaf is None:
            return f"tf.zeros([0], tf.{wanted})"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            several, times = (node.left, node.right) if self.is_static_list(node.left) else (node.right, node.left)
            if isinstance(several, ast.List) and len(several.elts) == 1:
                return f"tf.fill([{self.write(times)}], {self.item(several.elts[0], wanted)})"
        if not self.depends(node):
            return f"tf.constant({self.write(node)}, tf.{wanted})"
        if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in node.elts):
            return f"tf.stack([{', '.join(self.item(one, wanted) for one in node.elts)}])"
        text = f"tf.stack({self.write(node)})"
        return text if own in ("", wanted) else self.cast(node, own, wanted, text)

    def item(self, node: ast.expr, dtype: str) -> str:
        """Return an expression as a tensor of a dtype, a constant as it stands where that is enough."""
        if not self.depends(node):
            return f"tf.constant({self.write(node)}, tf.{dtype})"
        return self.tensor(node, dtype)

    # Comprehensions and loops.

    def elements(self, node: ast.expr) -> str:
        """Return what a loop of the graph iterates over."""
        return self.items_of(node)

    def truth_of(self, node: ast.expr) -> str | None:
        """Return the truth of text or of a list, which is true unless it is empty."""
        return operations.truth_of(self, node)

    def items_of(self, node: ast.expr) -> str:
        """Return what a loop goes over as a tensor.

        Raises:
            CannotPort: it is nothing that a graph goes over.
        """
        kind = self.kind(node)
        if isinstance(node, ast.GeneratorExp):
            return self.comprehension(node)
        if isinstance(node, ast.Call) and self.named(node.func) in ("reversed", "map", "iter"):
            return self.write(node)
        if kind is None or kind.name in ("dict", "counter", "set"):
            raise self.refusal(
                node,
                f"`{ast.unparse(node)}` is looped over, and a graph does not keep Python's order",
                "loop over a list",
            )
        if kind.name == "str":
            return f'tf.strings.unicode_split({self.write(node)}, "UTF-8")'
        if kind.name == "bytes":
            return f"tf.cast(tf.io.decode_raw({self.write(node)}, tf.uint8), tf.int64)"
        if kind.name == "other":
            raise self.refusal(
                node, f"`{ast.unparse(node)}` is looped over, which is not supported", "loop over a list"
            )
        return self.listed(node) if kind.is_sequence else self.write(node)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> str:
        """Return a comprehension over something whose length depends on an input, as a tensor."""
        generators = node.generators
        (first, *others) = generators
        if (
            not others
            and isinstance(first.target, ast.Name)
            and len(first.ifs) < 2
            and operations.is_elementwise(self, [node.elt, *first.ifs], {first.target.id})
        ):
            found = self._at_once(node, first)
            if found is not None:
                return found
        kind = self.kind(node.elt)
        if kind is not None and kind.is_sequence:
            raise self.refusal(node, f"`{ast.unparse(node)}` is a list of lists", "pad each to one length")
        if self.vectors:
            raise self.refusal(node, f"`{ast.unparse(node)}` needs a loop before it", "assign it to a name")
        return grown_lists.write_comprehension(self, node)

    def _at_once(self, node: ast.ListComp | ast.GeneratorExp, over: ast.comprehension) -> str | None:
        """Return a comprehension that does the same to each item, as the same done to all of them."""
        assert isinstance(over.target, ast.Name)
        name = over.target.id
        if isinstance(over.iter, ast.Call) and self.named(over.iter.func) in ("zip", "enumerate", "range", "reversed"):
            return None
        items = self.items_of(over.iter)
        uses = [
            one
            for part in (node.elt, *over.ifs)
            for one in ast.walk(part)
            if isinstance(one, ast.Name) and one.id == name
        ]
        if not items.isidentifier() and (len(uses) > 1 or over.ifs):
            if self.vectors:
                return None
            items = self.named_before(f"{name}s", items)
        before, self.vectors = self.vectors, {**self.vectors, name: items}
        try:
            if over.ifs:
                tests = [self.truth(one) for one in over.ifs]
                test = tests[0] if len(tests) == 1 else " & ".join(f"({one})" for one in tests)
                if not self.depends_on(node.elt, name):
                    value = self.item(node.elt, self.leaf_dtype(node.elt))
                    return f"tf.boolean_mask(tf.fill(tf.shape({items}), {value}), {test})"
                items = f"tf.boolean_mask({items}, {test})"
                if not isinstance(node.elt, ast.Name):
                    items = self.named_before(f"chosen_{name}s", items)
                self.vectors[name] = items
            if not self.depends_on(node.elt, name):
                return f"tf.fill(tf.shape({items}), {self.item(node.elt, self.leaf_dtype(node.elt))})"
            return self.write(node.elt)
        finally:
            self.vectors = before

    def depends_on(self, node: ast.expr, name: str) -> bool:
        """Is a name in an expression?"""
        return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))

    def leaf_dtype(self, node: ast.expr) -> str:
        """Return the dtype of what an expression holds."""
        kind = self.kind(node)
        dtype = dtype_of_kind(kind.leaf) if kind is not None else ""
        if not dtype:
            raise self.refusal(node, f"`{ast.unparse(node)}` is not a value that fits in a tensor")
        return dtype

    def is_long(self, node: ast.expr) -> bool:
        """Does it depend on an input how many items there are?"""
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self.chooses(node)
        kind = self.kind(node)
        if isinstance(node, ast.Call) and self.named(node.func) in ("range", "zip", "enumerate", "reversed", "map"):
            name = self.named(node.func)
            return any(map(self.depends if name == "range" else self.is_long, node.args))
        if kind is not None and kind.name == "array":
            return any(one.kind == TENSOR and one.shape[:1] == (None,) for one in self.seen(node))
        if kind is not None and kind.name in ("str", "bytes", "set", "dict", "counter"):
            return self.depends(node)
        return self.is_dynamic(node)

    def named(self, node: ast.expr) -> str:
        """Return the name of Python's function that an expression is; empty for anything else."""
        return calls.name_of_function(self, node)

    # Statements.

    def _statement(self, node: ast.stmt) -> str | None:
        if self._is_left_out(node):
            return super()._statement(node)
        for one in node.targets if isinstance(node, ast.Assign) else ():
            self._refuse_cut(one)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._assign(node.targets[0], node.value) or super()._statement(node)
        if isinstance(node, ast.AugAssign):
            return self._add(node) or super()._statement(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._call_alone(node.value) or super()._statement(node)
        return super()._statement(node)

    def _refuse_cut(self, target: ast.expr) -> None:
        root = target
        while isinstance(root, ast.Subscript):
            root = root.value
        kind = self.kind(root) if root is not target else None
        if kind is not None and kind.name == "other" and self.depends(root):
            raise self.refusal(target, f"`{ast.unparse(root)}` is written to, and is not an array of text or numbers")
        if kind is not None and kind.is_cut:
            raise self.refusal(
                target,
                f"`{ast.unparse(root)}` is an array of text of a fixed size, which cuts off longer text",
                "make it an array of objects: np.empty(n, object)",
            )

    def _assign(self, target: ast.expr, value: ast.expr) -> str | None:
        kind = self.kind(value)
        if not isinstance(target, ast.Name) or self.is_grown(target) or kind is None:
            return None
        if kind.is_sequence and self.name_is_dynamic(target.id):
            text = self.listed(value, self._dtype_of_name(target.id))
            return f"{target.id} = {f'tf.identity({text})' if text == target.id else text}"
        is_constant = kind.is_text and not self.depends(value) and self.name_depends(target.id)
        return f"{target.id} = tf.constant({self.write(value)})" if is_constant else None

    def _dtype_of_name(self, name: str) -> str:
        """Return the dtype of the items of a list that a name is in the function."""
        assert self.unit is not None
        leaves = {kind.leaf for one in self._reads(name) if (kind := self.kind(one)) is not None}
        found = {replace(one, rank=0) for one in leaves if one is not None and dtype_of_kind(one)}
        kind = merged(found) if found else None
        if kind is None:
            names = " and ".join(sorted({dtype_of_kind(one) for one in found}))
            raise self.refusal(
                self.unit.node,
                f"`{name}` is of several dtypes: {names}" if names else f"`{name}` was empty in every example",
                "use a separate name for each" if names else "add an example in which it has items",
            )
        return dtype_of_kind(kind)

    def _add(self, node: ast.AugAssign) -> str | None:
        target = node.target
        kind = self.kind(target)
        if not isinstance(target, ast.Name) or kind is None or not self.name_depends(target.id):
            return None
        name = target.id
        if kind.is_sequence and self.name_is_dynamic(name):
            if name in self.growing:
                raise self.refusal(node, f"`{name}` grows by several items at once in a loop", "append each")
            if isinstance(node.op, ast.Add):
                return f"{name} = tf.concat([{name}, {self.listed(node.value, self._dtype_of_name(name))}], 0)"
            raise self.refusal(node, f"`{ast.unparse(node)}` is not supported", "use +")
        if kind.is_text:
            if not isinstance(node.op, ast.Add):
                raise self.refusal(node, f"`{ast.unparse(node)}` is not supported", "use +")
            return f"{name} += {self.write(node.value)}"
        return None

    def _call_alone(self, node: ast.Call) -> str | None:
        function = node.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            return None
        if self.is_grown(function.value):
            return None
        name, method, kind = function.value.id, function.attr, self.kind(function.value)
        if kind is None or not kind.is_sequence or not self.name_is_dynamic(name):
            if kind is not None and kind.name in ("dict", "set", "counter") and self._parts_depend(node):
                raise self.refusal(
                    node,
                    f"`{ast.unparse(node)}` changes a {kind.name} by a value that depends on an input",
                    "use lists",
                )
            return None
        if not self.name_depends(name):
            return None
        if method == "append":
            dtype = self._dtype_of_name(name)
            item = self.kind(node.args[0])
            if item is not None and item.is_sequence:
                raise self.refusal(node, f"`{name}` is a list of lists", "pad each to one length, as an array")
            value = self.item(node.args[0], dtype)
            if name in self.growing:
                return f"{name} = {name}.write({name}.size(), {value})"
            return f"{name} = tf.concat([{name}, [{value}]], 0)"
        if method == "extend" and name not in self.growing:
            return f"{name} = tf.concat([{name}, {self.listed(node.args[0], self._dtype_of_name(name))}], 0)"
        if method == "reverse" and name not in self.growing:
            return f"{name} = tf.reverse({name}, [0])"
        if method == "sort" and self._dtype_of_name(name) != STRING and not node.args and not node.keywords:
            return f"{name} = tf.sort({name})"
        raise self.refusal(node, f"`{ast.unparse(node)}` of a list whose length depends on an input is not supported")

    def output(self, node: ast.expr) -> str:
        """Return what the body returns, if it is a list, or text or an array that depends on no input."""
        kind = self.kind(node)
        if kind is None:
            return ""
        if kind.is_sequence and kind.depth > 1 and self.is_dynamic(node):
            raise self.refusal(node, f"`{ast.unparse(node)}` has rows of different lengths", "pad each row")
        if kind.is_sequence and not self.is_dynamic(node) and dtype_of_kind(kind.leaf) and kind.depth == 1:
            return self.listed(node)
        is_constant = (kind.is_text or kind.name == "array") and not self.depends(node)
        return f"tf.constant({self.write(node)})" if is_constant else ""

    def lists_in(self, loop: ast.For | ast.While) -> tuple[set[str], set[str]]:
        """Return the lists that a loop appends to, and those whose length it changes in another way."""
        bound = names_bound(loop.body)
        own = {name for name in bound | _receivers(loop.body, "append", "extend") if self._is_before(name, loop)}
        own -= grown_lists.grown_names(self)
        appended = _receivers(loop.body, "append") - bound - self.growing
        return own & appended, own - appended - self.growing

    def _is_before(self, name: str, loop: ast.stmt) -> bool:
        """Is it a list whose length depends on an input, and that exists before a loop?"""
        assert self.unit is not None
        if not self.name_is_dynamic(name) or not is_bound_before(self.unit.node, loop, name):
            return False
        kinds = [self.kind(one) for one in self._reads(name)]
        return any(one is not None and one.is_sequence for one in kinds)

    def around_loop(self, loop: ast.For | ast.While) -> tuple[list[str], list[str]]:
        """Return the lines before and after a loop that turn lists into arrays to append to, and back into lists."""
        grown, resized = map(sorted, self.lists_in(loop))
        before = [f"{one} = {self._grown(one)}" for one in grown]
        before += [f"{one} = {self.use('_unsized')}({one})" for one in resized]
        return before, [f"{one} = {one}.stack()" for one in grown]

    def loop_body(self, loop: ast.For | ast.While) -> str:
        """Return a loop in which lists are arrays."""
        grown, _ = self.lists_in(loop)
        self.growing |= grown
        text = self.as_it_stands(loop)
        self.growing -= grown
        return text

    def _grown(self, name: str) -> str:
        assert self.unit is not None
        kinds = [kind for one in self._reads(name) if (kind := self.kind(one)) is not None and kind.leaf is not None]
        if any(one.depth != 1 for one in kinds):
            raise self.refusal(
                self.unit.node, f"`{name}` is a list of arrays that is changed in several ways", "only append to it"
            )
        return f"{self.use('_growing')}({name})"


def _depends(seen: Seen) -> bool:
    return seen.kind == TENSOR or seen.holds_tensors or seen.grows


def _receivers(statements: Sequence[ast.stmt], *methods: str) -> set[str]:
    """Return the names of which a method is called in statements."""
    return {
        node.func.value.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in methods
        and isinstance(node.func.value, ast.Name)
    }
