"""A body on text as TensorFlow's source: Python's text, lists and tables as tensors, tables and loops of the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pyopbench.model.source_text import parts_of
from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting import grown_lists
from pyopbench.ports.porting.kinds import NUMBERS, Kind, dtype_of_kind, merged
from pyopbench.ports.porting.observe import OTHER, SEQUENCE, TENSOR, Seen
from pyopbench.ports.porting.tensor_code import TensorCode
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.text import calls, operations

GROWN_ARRAY = "tf.TensorArray(tf.{}, 0, dynamic_size=True{})"


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
        self.before: list[str] | None = None
        self.growing: set[str] = set()

    # What things are.

    def kind(self, node: ast.AST) -> Kind | None:
        """Return what an expression was in Python; None if it was never evaluated.

        Raises:
            CannotPort: it was text once and a number another time, or the like.
        """
        seen = {one.kind_in_python for one in self.observed.of(self.source, node)} - {None}
        if not seen and isinstance(node, ast.Name):
            # A line that no example reached has the names of lines that were.
            of_name = {kind for one in self._reads(node.id) if (kind := self.kind(one)) is not None}
            return merged(of_name) if of_name else None
        found = merged(seen) if seen else None  # type: ignore[arg-type]
        if seen and found is None:
            names = " and ".join(sorted({one.dtype or one.name for one in seen}))  # type: ignore[union-attr]
            why = f"`{ast.unparse(node)}` is of several kinds: {names}"
            raise self.refusal(node, why, "give each a name of its own")
        return found

    def _reads(self, name: str, unit: Unit | None = None) -> list[ast.Name]:
        """Return where a function reads a local name, or binds it, and something is known of it."""
        unit = unit or self.unit
        nodes = ast.walk(unit.node) if unit is not None else ()
        named = [one for one in nodes if isinstance(one, ast.Name) and one.id == name]
        return [one for one in named if self.observed.of(self.source, one)]

    def seen(self, node: ast.AST) -> set[Seen]:
        """Return what an expression was: a list whose length depends on an input in any line is a tensor."""
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
        """Does it depend on an input how many items a comprehension has?"""
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
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
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
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return operations.write_not(self, node)
        if isinstance(node, ast.BoolOp):
            return operations.write_bool(self, node)
        if isinstance(node, ast.IfExp):
            return operations.write_choice(self, node)
        if isinstance(node, ast.Lambda):
            raise self.refusal(node, "a `lambda` of a value that depends on an input", "write a comprehension")
        return None

    def _parts_depend(self, node: ast.expr) -> bool:
        return self.depends(node) or any(
            self.depends(one) for one in ast.walk(node) if isinstance(one, ast.expr) and one is not node
        )

    def as_it_stands(self, node: ast.AST) -> str:
        """Return the text of a node with its parts written."""
        if isinstance(node, ast.JoinedStr):  # whose parts have wrong places before Python 3.12
            return self.source.text(*self.source.span(node))
        return super().as_it_stands(node)

    def _part(self, node: ast.AST, part: ast.AST) -> str:
        if part is getattr(node, "test", None) and isinstance(part, ast.expr) and self._parts_depend(part):
            return operations.write_truth(self, part)
        return super()._part(node, part)

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
                f"`{ast.unparse(node)}` was empty in every example, so that its dtype is not known",
                "give an example in which it has items",
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
        return self._in_loop(node)

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
                tests = [operations.write_truth(self, one) for one in over.ifs]
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

    def _in_loop(self, node: ast.ListComp | ast.GeneratorExp) -> str:
        """Return a comprehension whose items are appended one by one, in a loop before the statement."""
        if self.vectors or self.before is None:
            raise self.refusal(
                node,
                f"`{ast.unparse(node)}` needs a loop before it, and there is no line for it",
                "assign it to a name on its own line",
            )
        kind = self.kind(node.elt)
        if kind is not None and kind.is_sequence:
            raise self.refusal(node, f"`{ast.unparse(node)}` is a list of lists", "pad each to one length")
        own = {one.id for over in node.generators for one in ast.walk(over.target) if isinstance(one, ast.Name)}
        taken = own & set(_bound_outside(self.unit.node if self.unit else node))
        if taken:
            raise self.refusal(
                node, f"`{min(taken)}` is also the name of something else in the function", "give it another name"
            )
        dtype, name = self.leaf_dtype(node.elt), self.fresh("found")
        lines = [f"{name} = {self.array_of(node.elt, dtype)}"]
        indent = ""
        for over in node.generators:
            header, inside = self.loop_header(over.target, over.iter)
            lines.append(f"{indent}{header}")
            indent += "    "
            lines += [f"{indent}{one}" for one in inside]
            for test in over.ifs:
                lines.append(f"{indent}if {operations.write_truth(self, test)}:")
                indent += "    "
        outer, self.before = self.before, []
        value = self.item(node.elt, dtype)
        lines += [f"{indent}{one}" for one in self.before]
        self.before = outer
        lines.append(f"{indent}{name} = {name}.write({name}.size(), {value})")
        self.before += lines
        return f"{name}.stack()"

    def array_of(self, node: ast.expr, dtype: str) -> str:
        """Return an empty `tf.TensorArray` for items like an expression."""
        kind = self.kind(node)
        shape = ", element_shape=[]" if kind is not None and kind.depth == 0 else ""
        return GROWN_ARRAY.format(dtype, shape)

    def loop_header(self, target: ast.expr, over: ast.expr) -> tuple[str, list[str]]:
        """Return `for target in over:` and the lines that its body begins with."""
        name = self.named(over.func) if isinstance(over, ast.Call) else ""
        assert isinstance(over, ast.Call) or not name
        written = self.source.text(*self.source.span(target))
        if name == "range" and isinstance(over, ast.Call):
            return f"for {written} in {self.write(over)}:", []
        if (
            name in ("enumerate", "zip", "reversed")
            and isinstance(over, ast.Call)
            and any(map(self.is_long, over.args))
        ):
            return self._places_loop(name, target, over)
        if self.is_long(over):
            if not isinstance(target, ast.Name):
                raise self.refusal(over, f"`{written}` unpacks each item", "loop over `range(len(...))`")
            return f"for {written} in {self.items_of(over)}:", []
        return f"for {written} in {self.write(over)}:", []

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

    def _places_loop(self, name: str, target: ast.expr, over: ast.Call) -> tuple[str, list[str]]:
        """Return a loop over places, in which the items at them are taken."""
        start = over.args[1] if name == "enumerate" and len(over.args) == 2 else None
        given = over.args[:1] if name != "zip" else over.args
        if over.keywords or (start is not None and self.constant(start) is ...):
            raise self.refusal(over, f"`{ast.unparse(over)}` is not supported", "loop over `range(len(...))`")
        several = [self._simple(one) for one in given]
        sizes = [f"tf.shape({one}, tf.int64)[0]" for one in several]
        size = sizes[0]
        for other in sizes[1:]:
            size = f"tf.minimum({size}, {other})"
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if name == "reversed":
            (what,) = targets
            return f"for {self.source.text(*self.source.span(what))} in {several[0]}[::-1]:", []
        place = self.fresh("place")
        if name == "enumerate":
            index, *rest = targets
            if len(rest) != 1 or not isinstance(index, ast.Name):
                raise self.refusal(over, "`enumerate` without names for the index and the item", "name both")
            first = self.constant(start) if start is not None else 0
            if isinstance(rest[0], ast.Tuple):
                raise self.refusal(over, "`enumerate` of several lists at once", "loop over `range(len(...))`")
            if first == 0:
                place = index.id
                return f"for {place} in range({size}):", [self._take(rest[0], several[0], place)]
            lines = [f"{index.id} = {place} + {first}", self._take(rest[0], several[0], place)]
            return f"for {place} in range({size}):", lines
        if len(targets) != len(several):
            raise self.refusal(over, "`zip` without a name for each item", "name each")
        lines = [self._take(one, items, place) for one, items in zip(targets, several, strict=True)]
        return f"for {place} in range({size}):", lines

    def _take(self, target: ast.expr, items: str, place: str) -> str:
        return f"{self.source.text(*self.source.span(target))} = {items}[{place}]"

    def _simple(self, node: ast.expr) -> str:
        """Return the name of a tensor of items; what is no name is given one before the statement."""
        text = self.items_of(node)
        return text if text.isidentifier() else self.named_before("items", text)

    def named_before(self, name: str, text: str) -> str:
        """Return a new name that a line before the statement binds to a text.

        Raises:
            CannotPort: the statement has no place for a line before it.
        """
        if self.before is None:
            assert self.unit is not None
            raise self.refusal(
                self.unit.node, "a list needs a line before it, and there is no place for it", "give it a name"
            )
        name = self.fresh(name)
        self.before.append(f"{name} = {text}")
        return name

    def fresh(self, name: str) -> str:
        """Return a name that nothing in the function has."""
        assert self.unit is not None
        taken = self.__dict__.setdefault("_taken", {}).setdefault(
            id(self.unit.node),
            {getattr(one, "id", getattr(one, "arg", "")) for one in ast.walk(self.unit.node)} | set(self.unit.reads),
        )
        found = next(one for number in count() if (one := f"{name}{number or ''}") not in taken)
        taken.add(found)
        return found

    def named(self, node: ast.expr) -> str:
        """Return the name of Python's function that an expression is; empty for anything else."""
        return calls.name_of_function(self, node)

    # Statements.

    def write(self, node: ast.AST) -> str:
        """Return the text of a node; lines that its parts need stand before a statement."""
        if not isinstance(node, ast.stmt) or self.unit is None or node is self.unit.node:
            return super().write(node)
        outer, self.before = self.before, []
        try:
            text = super().write(node)
            lines = self.before
        finally:
            self.before = outer
        if not lines:
            return text
        begin, _ = self.source.span(node)
        line = self.source.starts[node.lineno - 1]
        is_own_line = not self.source.text(line, begin).strip()
        if not is_own_line or self.source.text(begin, begin + 4) == "elif" or isinstance(node, ast.While):
            raise self.refusal(
                node,
                "this needs a line before it, and there is no place for it",
                "assign the list to a name on its own line",
            )
        indent = " " * node.col_offset
        return "".join(f"{one}\n{indent}" for one in lines) + text

    def _statement(self, node: ast.stmt) -> str | None:
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.Try):
            raise self.refusal(
                node, "`try` has no counterpart: a graph cannot catch errors", "test what may fail with `if`"
            )
        if isinstance(node, ast.Delete | ast.Global | ast.Nonlocal | ast.With | ast.Raise) and self._is_traced():
            raise self.refusal(node, f"`{ast.unparse(node).split()[0]}` is not supported in a body on text")
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
        if isinstance(node, ast.Return) and node.value is not None:
            return f"return {self._returned(node.value)}"
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
        if self.is_grown(target):
            return None
        if isinstance(target, ast.Name):
            kind = self.kind(value)
            if not self.name_depends(target.id) or kind is None:
                return None
            if kind.is_sequence and self.name_is_dynamic(target.id):
                return f"{target.id} = {self._copied(target.id, self.listed(value, self._dtype_of_name(target.id)))}"
            if not self.depends(value):
                if kind.is_text:
                    return f"{target.id} = tf.constant({self.write(value)})"
                if kind.name in NUMBERS:
                    return f"{target.id} = tf.constant({self.write(value)}, tf.{self._dtype_of_name(target.id)})"
                if kind.name == "array":
                    return f"{target.id} = tf.constant({self.write(value)})"
                return None
            if kind.is_text or self.is_dynamic(value):
                return f"{target.id} = {self._copied(target.id, self.write(value))}"
            return None
        if isinstance(target, ast.Tuple | ast.List) and self.is_dynamic(value):
            if any(isinstance(one, ast.Starred) for one in target.elts):
                raise self.refusal(target, f"`{ast.unparse(target)}` takes any number of items", "take slices")
            names = self.source.text(*self.source.span(target))
            return f"{names} = tf.unstack({self.write(value)}, num={len(target.elts)})"
        return None

    def _copied(self, name: str, text: str) -> str:
        return f"tf.identity({text})" if text == name else text

    def _dtype_of_name(self, name: str) -> str:
        """Return the dtype of the items of a list, or of a number, that a name is in the function."""
        assert self.unit is not None
        found = {
            replace(kind.leaf, rank=0)
            for node in ast.walk(self.unit.node)
            if isinstance(node, ast.Name)
            and node.id == name
            and (kind := self.kind(node)) is not None
            and kind.leaf is not None
            and dtype_of_kind(kind.leaf)
        }
        if not found:
            raise self.refusal(
                self.unit.node,
                f"`{name}` was empty in every example, so that its dtype is not known",
                "give an example in which it has items",
            )
        kind = merged(found)
        if kind is None:
            names = " and ".join(sorted({dtype_of_kind(one) for one in found}))
            raise self.refusal(self.unit.node, f"`{name}` is of several dtypes: {names}", "give each a name of its own")
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

    def _returned(self, node: ast.expr) -> str:
        if isinstance(node, ast.Tuple) and any(map(self._parts_depend, node.elts)):
            return f"({', '.join(map(self._returned, node.elts))})" if len(node.elts) > 1 else self.write(node)
        kind = self.kind(node)
        if kind is None or not self._is_body():
            if kind is not None and kind.name in NUMBERS and not self.depends(node) and self._parts_returned_depend():
                return f"tf.constant({self.write(node)}, tf.{NUMBERS[kind.name]})"
            return self.write(node)
        if kind.is_sequence and not self.is_dynamic(node) and dtype_of_kind(kind.leaf) and kind.depth == 1:
            return self.listed(node)
        if not self.depends(node):
            if kind.name in NUMBERS:
                return f"tf.constant({self.write(node)}, tf.{NUMBERS[kind.name]})"
            if kind.is_text or kind.name == "array":
                return f"tf.constant({self.write(node)})"
        if kind.is_sequence and kind.depth > 1 and self.is_dynamic(node):
            raise self.refusal(node, f"`{ast.unparse(node)}` has rows of different lengths", "pad each row")
        return self.write(node)

    def _is_body(self) -> bool:
        assert self.unit is not None
        (first, *_) = self.units.by_name.values()
        return self.unit.node is first.node

    def _parts_returned_depend(self) -> bool:
        assert self.unit is not None
        return any(isinstance(one, ast.Return) and self.depends(one.value) for one in ast.walk(self.unit.node))

    def _for(self, node: ast.For) -> str | None:
        is_of_graph = self.is_long(node.iter)
        if not is_of_graph:
            return None
        if node.orelse:
            raise self.refusal(node, "`else` of a loop is not supported", "use a flag")
        header, inside = self.loop_header(node.target, node.iter)
        bound = {
            one.id
            for part in node.body
            for one in ast.walk(part)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        grown = sorted(one for one in _appended(node.body) if self._grows(one, node))
        resized = [one for one in sorted(bound | _receivers(node.body, "extend")) if self._is_resized(one, node)]
        self.growing |= set(grown)
        indent = " " * node.body[0].col_offset
        first, _ = self.source.span(node.body[0])
        _, end = self.source.span(node)
        if node.body[0].lineno == node.lineno:
            raise self.refusal(node, "a loop in one line is not supported", "write its body on its own line")
        parts = [(*self.source.span(one), self.write(one)) for one in node.body]
        body = self.source.replaced(first, end, parts)
        self.growing -= set(grown)
        lines = "".join(f"{one}\n{indent}" for one in inside)
        outer = "\n" + " " * node.col_offset
        before = "".join(f"{one} = {self._grown(one)}{outer}" for one in grown)
        before += "".join(f"{one} = {self.use('_unsized')}({one}){outer}" for one in resized if one not in grown)
        after = "".join(f"{outer}{one} = {one}.stack()" for one in grown)
        comment = self._comments_between(first, node)
        return f"{before}{header}{comment}\n{indent}{lines}{body}{after}"

    def _is_resized(self, name: str, loop: ast.For) -> bool:
        """Is it a list that is there before a loop, which gives it another length?"""
        assert self.unit is not None
        if not self.name_is_dynamic(name) or name in grown_lists.grown_names(self):
            return False
        before = [
            one
            for one in ast.walk(self.unit.node)
            if isinstance(one, ast.Name)
            and one.id == name
            and isinstance(one.ctx, ast.Store)
            and one.lineno < loop.lineno
        ]
        kinds = [self.kind(one) for one in ast.walk(self.unit.node) if isinstance(one, ast.Name) and one.id == name]
        return bool(before) and any(one is not None and one.is_sequence for one in kinds)

    def _comments_between(self, first: int, node: ast.For) -> str:
        """Return what stands behind the header of a loop and before its body, if that is a comment."""
        _, end = self.source.span(node.iter)
        between = self.source.text(end, first)
        head, _, rest = between.partition("\n")
        behind = head.partition("#")[2]
        kept = f"  #{behind}" if behind else ""
        lines = [one.rstrip() for one in rest.splitlines() if one.strip().startswith("#")]
        return kept + "".join(f"\n{one}" for one in lines)

    def _grown(self, name: str) -> str:
        assert self.unit is not None
        kind = next(
            (
                one
                for node in ast.walk(self.unit.node)
                if isinstance(node, ast.Name)
                and node.id == name
                and (one := self.kind(node)) is not None
                and one.leaf is not None
            ),
            None,
        )
        if kind is not None and kind.depth != 1:
            raise self.refusal(
                self.unit.node,
                f"`{name}` is a list of arrays that is not empty before a loop",
                "begin with an empty list right before the loop",
            )
        self.use("_growing")
        return f"_growing({name})"

    def _grows(self, name: str, loop: ast.For) -> bool:
        """Is a list appended to in a loop of the graph, and not bound in it?"""
        bound = {
            one.id
            for part in loop.body
            for one in ast.walk(part)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        is_of_graph = self.is_long(loop.iter)
        return (
            is_of_graph
            and name in _appended(loop.body) - bound - self.growing
            and self.name_is_dynamic(name)
            and name not in grown_lists.grown_names(self)
        )


def _depends(seen: Seen) -> bool:
    return seen.kind == TENSOR or seen.holds_tensors or seen.grows


def _appended(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names of lists that statements append to."""
    return _receivers(statements, "append")


def _receivers(statements: Sequence[ast.stmt], method: str) -> set[str]:
    """Return the names of which a method is called in statements."""
    return {
        node.func.value.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and isinstance(node.func.value, ast.Name)
    }


def _bound_outside(node: ast.AST) -> Iterator[str]:
    """Yield the names that a function binds outside of comprehensions."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        if isinstance(one, ast.arg):
            yield one.arg
        yield from _bound_outside(one)
