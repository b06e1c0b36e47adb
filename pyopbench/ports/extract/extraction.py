"""A function and everything it needs, extracted from wherever it is defined into a module.

The function may be anything that Python can call: a `def` in a file, a function inside another one with the variables
that it captures, a lambda, a method, an object with `__call__`, `functools.partial`, a ufunc. Statements of the user's
files are copied. Values that no statement makes (captured variables, attributes of `self`) and values that were read
from a file or changed later are written as they are now.

Ports are written from this module. A function of a notebook is sent to workers as such a module.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from pyopbench.model.syntax import DEFINITIONS, Source, free_names, name_of, names_bound, read_source
from pyopbench.ports.extract.definitions import (
    CONTAINERS,
    LIBRARIES_OF_BODIES,
    POSITIONAL,
    CannotPort,
    Parents,
    Place,
    StateChanged,
    bindings_of,
    bound_name,
    definition_of,
    first_line,
    is_changed,
    is_file_of_user,
    is_module_of_user,
    key_read,
    parameters_of,
    public_home,
    reads_outside,
    require_no_state,
    require_unchanged,
    source_of,
    unwrapped,
    without_annotations,
)
from pyopbench.ports.extract.module import (
    ITEM,
    Extracted,
    Item,
    Replacing,
    constant_name,
    items_in,
    load,
    module_of,
    name_arguments,
    needed_by,
    reference,
)
from pyopbench.ports.extract.values import NAMESPACES, NotWritable, expression_of, is_same, plain_container

FIX = "pass it to the function as an argument, or define it in one statement of a module that is imported"

LONGEST_COMPUTED = 2_000
"""Characters of a value that is written in place of the functions that compute it."""

LONGEST_IN_PLACE = 80
"""Characters of a default or a bound argument that is written where it is used, and not as a constant."""

ALIASES = {"numpy": "np", "tensorflow": "tf"}
"""The usual names of imported modules."""


@dataclass(frozen=True)
class Holder:
    """A value of which only what is read is written: an object, a module, a configuration.

    Attributes:
        value: the user's value.
        whole: returns a reference to the statement that makes the value, for when a part that is read cannot be
            written, such as a member of an enumeration; None if there is no such statement.
    """

    value: Any
    whole: Callable[[], ast.expr] | None = None


class Extraction:
    """Collects functions and what they need; `module` then writes them.

    Args:
        frozen: files and names of statements that are not copied, because they fail or their values have changed.
    """

    def __init__(self, frozen: Set[tuple[str, str]] = frozenset()) -> None:
        self.frozen = frozen
        self.roots: list[Item] = []
        self.packages: set[str] = set()
        self.by_value: set[tuple[str, str]] = set()
        self._is_given = False  # is a statement needed only to make inputs? Then it may read files
        self._items: dict[Hashable, Item] = {}
        self._alive: list[Any] = []  # so that no other object gets the id of one that is a key

    def add(self, function: Any, name: str = "", arguments: int = 0) -> None:
        """Add a function and everything it needs.

        Args:
            function: anything that can be called.
            name: its name in the module if it has no name of its own.
            arguments: how many positional ones it is called with; 0 if that is not known.

        Raises:
            CannotPort: it has no source, or needs a value that cannot be written; names the user's line.
        """
        function = unwrapped(function)
        home = str(getattr(function, "__module__", "") or "").partition(".")[0]
        if home not in ("", "builtins", "functools", *LIBRARIES_OF_BODIES):
            self.packages.add(home)
        wanted = name or bound_name(function) or "body"
        item = self._callable(function, wanted, None, arguments)
        if item is None:
            item = self._partial(functools.partial(function), wanted, None, arguments)
        elif all(item not in items_in(one.node) for one in self._items.values()):  # else it has other calls, too
            name_arguments(item, arguments)
        self.roots.append(item)

    def add_expression(self, scope: dict[str, Any], path: str, node: ast.expr) -> Item:
        """Add an expression at the top level of a file, to whose node `module` gives the names of the module.

        The user's statements that it reads are copied as they are, even if they read other files.
        """
        item = Item("", ast.copy_location(ast.Expr(copy.deepcopy(node)), node), read_source(path), scope, is_whole=True)
        self._is_given = True
        self._resolve(item, {})
        self._is_given = False
        self.roots.append(item)
        return item

    def module(self) -> Extracted:
        """Return the module."""
        return module_of(self.roots, self._items.values())

    def changed(self, module: types.ModuleType | None) -> set[tuple[str, str]]:
        """Return files and names of the statements whose values in a loaded module differ from the current ones.

        All, if there is no such module because it fails.
        """
        return {
            (item.source.path, name)
            for item in needed_by(self.roots)
            if item.is_whole and item.wanted and item.source is not None and not isinstance(item.node, DEFINITIONS)
            for name in names_bound(item.node)
            if name in item.scope and (module is None or not is_same(item.scope[name], vars(module).get(name)))
        }

    # Functions.

    def _callable(self, value: Any, wanted: str, place: Place | None, arguments: int = 1) -> Item | None:
        """Return the item for a function of the user, of any kind; None for anything else."""
        function: Any = unwrapped(value)
        owner: list[Any] = []
        if isinstance(function, functools.partial):
            return self._partial(function, wanted, place, arguments)
        if isinstance(function, types.MethodType):
            function, owner = function.__func__, [function.__self__]
        elif not isinstance(function, types.FunctionType):
            function, owner = inspect.getattr_static(type(function), "__call__", None), [function]
        is_of_user = isinstance(function, types.FunctionType) and self._is_of_user(function)
        return self._function(function, wanted, *owner) if is_of_user else None

    def _function(self, function: types.FunctionType, wanted: str, *owner: Any) -> Item:
        """Return the item for a function, or for the method of an object, whose `self` becomes a global name."""
        source, node = definition_of(function)
        scope = function.__globals__
        is_top = node in source.tree.body and isinstance(node, ast.FunctionDef)
        if is_top and not function.__closure__ and (not node.decorator_list or scope.get(node.name) is function):
            return self._statement(source, node, node.name, scope)
        key = ("function", id(function), *map(id, owner))
        if key in self._items:
            return self._items[key]
        place = (source.path, node.lineno)
        if "__class__" in function.__code__.co_freevars:
            raise CannotPort("it calls `super()`", fix="name the class instead", place=place)
        own = function.__name__
        own = own if own.isidentifier() and not own.startswith("__") else wanted
        definition = without_annotations(node)
        if isinstance(node, ast.Lambda):
            returned = ast.copy_location(ast.Return(definition.body), definition.body)
            definition = ast.copy_location(ast.FunctionDef(own, definition.args, [returned], []), definition)
        definition.decorator_list = []
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        values = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
        if owner:
            parameters = definition.args.posonlyargs or definition.args.args
            if not parameters:
                why = "a method takes `self` as a part of `*args`"
                raise CannotPort(why, fix="name its first parameter", place=place)
            values[parameters.pop(0).arg] = owner[0]
        item = Item(own, definition, source, scope)
        self._remember(key, item, (function, owner))
        defaults = [*definition.args.defaults, *filter(None, definition.args.kw_defaults)]
        current = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        replaced = {
            node: self._short(value, "default", (source.path, node.lineno))
            for node, value in zip(defaults, current, strict=True)
        }
        definition.args = Replacing(replaced).visit(definition.args)
        self._resolve(item, values)
        return item

    def _partial(self, value: functools.partial[Any], wanted: str, place: Place | None, arguments: int) -> Item:
        """Return a function that passes its arguments on, after those that are bound."""
        key = ("partial", id(value))
        if key not in self._items:
            inner = unwrapped(value.func)
            function = self._value(inner, bound_name(inner) or f"{wanted}_of_all", place)
            names, defaults = parameters_of(value, arguments), list[ast.expr]()
            if hasattr(function, ITEM):  # the user's own
                own = [one for one in inspect.signature(value).parameters.values() if one.kind in POSITIONAL]
                names = [one.name for one in own]
                defaults = [self._short(one.default, one.name, place) for one in own if one.default is not one.empty]
            passed = [self._short(one, "argument", place) for one in value.args]
            passed += [ast.Name(one, ast.Load()) for one in names]
            named = [ast.keyword(name, self._short(one, name, place)) for name, one in value.keywords.items()]
            head = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, defaults)
            definition = ast.FunctionDef(wanted, head, [ast.Return(ast.Call(function, passed, named))], [])
            self._remember(key, Item(wanted, definition), value)
        return self._items[key]

    # Names of a module.

    def _statement(self, source: Source, node: ast.stmt, name: str, scope: dict[str, Any]) -> Item:
        key = ("statement", source.path, id(node))
        if key not in self._items:
            item = Item(name, without_annotations(node), source, scope, is_whole=True)
            self._remember(key, item, node)
            self._resolve(item, {})
        return self._items[key]

    def _global(self, scope: dict[str, Any], name: str, place: Place | None) -> ast.expr | Holder | None:
        """Return a replacement for a global of a module: a reference, or a value; None for a builtin of Python."""
        source = source_of(scope)
        statement = bindings_of(source).get(name) if source is not None else None
        is_skipped = isinstance(statement, ast.Import | ast.ImportFrom) and name not in scope  # under TYPE_CHECKING
        if statement is None or source is None or is_skipped:
            if name in scope and not name.startswith("__"):
                return Holder(scope[name])
            if hasattr(builtins, name):
                return None
            raise CannotPort(
                f"`{name}` is not defined by a statement at the top level of its file",
                fix=f"define or import `{name}` first, or take it as an argument",
                place=place,
            )
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(scope, statement, name, place)

        def whole() -> ast.expr:
            return reference(self._statement(source, statement, name, scope), name)

        value = scope.get(name)
        is_definition = isinstance(statement, ast.FunctionDef)
        if isinstance(statement, ast.ClassDef) and not isinstance(value, type):
            return whole()
        if isinstance(statement, ast.ClassDef) or self._is_instance_of_user(value):
            return Holder(value, whole)
        is_replaced = isinstance(value, types.FunctionType) and (  # by a decorator
            unwrapped(value) is not value or first_line(statement) != value.__code__.co_firstlineno
        )
        item = self._callable(value, name, place) if is_replaced or not is_definition else None
        if item is not None:
            return reference(item)
        return whole() if is_definition or name not in scope else self._constant(source, statement, name, scope, whole)

    def _constant(
        self, source: Source, statement: ast.stmt, name: str, scope: dict[str, Any], whole: Callable[[], ast.expr]
    ) -> ast.expr | Holder:
        """Return a reference to the statement of a constant, or its value if the statement would give another one."""
        before, place = dict(self._items), (source.path, statement.lineno)
        is_run_again = scope.get("__name__") != "__main__" or self._is_given  # a script or a notebook is not
        is_kept = (source.path, name) not in self.frozen and not is_changed(source, name)
        if is_kept and is_run_again:
            with contextlib.suppress(CannotPort):
                node = whole()
                needed = [item for item in needed_by(items_in(node)) if item.source is not None]
                if self._is_given:
                    return node
                if not any(reads_outside(item.node) for item in needed):
                    is_short = any(item.is_function for item in needed) and self._is_short(scope[name], place)
                    return Holder(scope[name]) if is_short else node
        self._items = before
        self.by_value.add((source.path, name))
        return Holder(scope[name], whole if self._is_given else None)

    def _imported(
        self, scope: dict[str, Any], statement: ast.Import | ast.ImportFrom, name: str, place: Place | None
    ) -> ast.expr | Holder | None:
        alias = next(one for one in statement.names if name_of(one) == name)
        if isinstance(statement, ast.Import):
            module = sys.modules.get(alias.name)
            if module is not None and is_module_of_user(module):
                return Holder(module)
            return self._import(name, alias.name)
        home = statement.module or ""
        if statement.level:
            home = importlib.util.resolve_name("." * statement.level + home, str(scope.get("__package__")))
        if home == "__future__":
            return None
        whole, parent = sys.modules.get(f"{home}.{alias.name}"), sys.modules.get(home)
        if whole is not None and is_module_of_user(whole):
            return Holder(whole)
        if parent is not None and is_module_of_user(parent):
            return self._global(vars(parent), alias.name, place)
        return self._import(name, home, alias.name)

    def _import(self, wanted: str, module: str, attribute: str = "") -> ast.expr:
        key = ("import", wanted, module, attribute)
        alias = ast.alias(attribute or module)
        node = ast.ImportFrom(module, [alias], 0) if attribute else ast.Import([alias])
        return reference(self._items.setdefault(key, Item(wanted, node)))

    # Names that a statement reads.

    def _resolve(self, item: Item, values: Mapping[str, Any]) -> None:
        """Replace each name that a statement reads by its counterpart in the module.

        Args:
            item: the statement.
            values: of variables of the function around it, and the object of a method, by name.
        """
        node, source = item.node, item.source
        assert isinstance(node, ast.stmt)
        assert source is not None
        path, replaced = source.path, dict[ast.AST, ast.expr]()
        require_no_state(source, node, {*values})
        parents = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        own = {*names_bound(node)} if item.is_whole else set()
        free: dict[str, list[ast.Name]] = {}
        for one in free_names(node):
            if one.id not in own and not hasattr(one, ITEM):
                free.setdefault(one.id, []).append(one)
        for name, places in sorted(free.items()):
            place = (path, places[0].lineno)
            found = Holder(values[name]) if name in values else self._global(item.scope, name, place)
            for one in places:
                if isinstance(found, Holder):
                    part, new = self._part_read(path, one, found, parents)
                    replaced[part] = new
                elif found is not None:
                    if item.is_function:
                        require_unchanged(one, item.scope.get(name), parents, path)
                    replaced[one] = found
        item.node = Replacing(replaced).visit(node)

    def _part_read(self, file: str, name: ast.Name, holder: Holder, parents: Parents) -> tuple[ast.expr, ast.expr]:
        """Return the longest chain of attributes and keys that starts with a name, and a replacement for it."""
        node: ast.expr = name
        begin, value, path, place = node, holder.value, [name.id], (file, name.lineno)
        require_unchanged(node, value, parents, file)
        while self._is_holder(value) and (key := key_read(node, value, parents)):
            part: Any = parents[node]
            if isinstance(value, types.ModuleType):
                found = self._global(vars(value), key, place)
                if found is None:
                    raise CannotPort(f"`{ast.unparse(part)}` is not defined there", place=place)
                if not isinstance(found, Holder):
                    return part, found
                begin, holder, value, path = part, found, found.value, [key]
            else:
                try:
                    inner = value[key] if isinstance(part, ast.Subscript) else getattr(value, key)
                except Exception:  # noqa: BLE001 - a property of the user's may raise anything
                    break
                value = plain_container(inner)
                path.append(key)
            node = part
            require_unchanged(node, value, parents, file)
        constant = constant_name(path[1:] if path[0] in ("self", "cls") else path)
        wanted = name.id if node is name else path[-1] if callable(value) else constant
        try:
            return node, self._value(value, wanted, place, ast.unparse(node))
        except CannotPort as error:
            if holder.whole is None or isinstance(error, StateChanged):
                raise
            return begin, holder.whole()

    def _is_holder(self, value: Any) -> bool:
        if isinstance(value, types.ModuleType | type):
            return self._is_of_user(value)
        is_configuration = isinstance(value, (dict, *NAMESPACES)) or hasattr(value, "_fields")
        return is_configuration or self._is_instance_of_user(value)

    def _is_instance_of_user(self, value: Any) -> bool:
        is_other = isinstance(value, (type, types.FunctionType, types.MethodType, types.ModuleType))
        return not is_other and self._is_of_user(type(value))

    def _is_of_user(self, value: types.FunctionType | types.ModuleType | type) -> bool:
        """Is it the user's, or of the package whose function is extracted?"""
        home = str(value.__name__ if isinstance(value, types.ModuleType) else value.__module__)
        if home == "__main__" or home.partition(".")[0] in self.packages:
            return True
        if isinstance(value, types.FunctionType):
            return is_file_of_user(value.__code__.co_filename)
        module = value if isinstance(value, types.ModuleType) else sys.modules.get(home)
        return module is not None and is_module_of_user(module)

    # Values.

    def _value(self, value: Any, wanted: str, place: Place | None, spelled: str = "") -> ast.expr:
        """Return a replacement for a value: a reference to a function, an import or a constant."""
        item = self._callable(value, wanted, place)
        if item is not None:
            return reference(item)
        try:
            node = expression_of(value, functools.partial(self._refer, place))
        except NotWritable as error:
            raise CannotPort(
                f"`{spelled or wanted}` cannot be written as source: it is {error}", fix=FIX, place=place
            ) from error
        if isinstance(node, ast.Name | ast.Attribute):  # a function or a class
            return node
        is_shared = isinstance(value, CONTAINERS)
        key = ("value", id(value)) if is_shared else ("value", wanted, ast.dump(node))
        if key not in self._items:
            self._remember(key, Item(wanted, node, spelled=spelled), value)
        return reference(self._items[key])

    def _short(self, value: Any, wanted: str, place: Place | None) -> ast.expr:
        """Return a replacement for a default or a bound argument: itself if it is short."""
        node = self._value(value, constant_name([wanted]), place)
        own = getattr(getattr(node, ITEM, None), "node", None)
        return own if isinstance(own, ast.expr) and len(ast.unparse(own)) <= LONGEST_IN_PLACE else node

    def _is_short(self, value: Any, place: Place) -> bool:
        """Can a value be written in place of the functions of the user that compute it, which may take long?"""
        try:
            expression_of(value, functools.partial(self._refer, place), LONGEST_COMPUTED)
        except (CannotPort, NotWritable):
            return False
        return True

    def _refer(self, place: Place | None, value: Any) -> ast.expr:
        """Return a reference to a function or a class, or to a module of a library."""
        name, home = str(getattr(value, "__name__", "function")), sys.modules.get(str(getattr(value, "__module__", "")))
        if isinstance(value, type) and home is not None and self._is_of_user(value):
            found = self._global(vars(home), name, place)
            if isinstance(found, Holder) and found.value is value and found.whole is not None:
                return found.whole()
        item = self._callable(value, name, place) if callable(value) and not isinstance(value, type) else None
        return self._library(value) if item is None else reference(item)

    def _library(self, value: Any) -> ast.expr:
        """Return a reference to a module, a class or a function of a library.

        Raises:
            NotWritable: it is something else, or is not public.
        """
        module, name = (value.__name__, "") if isinstance(value, types.ModuleType) else public_home(value)
        if module == "builtins":
            return ast.Name(name, ast.Load())
        root, *parts = module.split(".")
        node = self._import(ALIASES[root], root) if root in ALIASES else self._import(root, module)
        for part in (*parts, *([name] if name else [])):
            node = ast.Attribute(node, part, ast.Load())
        return node

    def _remember(self, key: Hashable, item: Item, value: Any) -> None:
        self._items[key] = item
        self._alive.append(value)


def extract(add: Callable[[Extraction], None]) -> tuple[Extracted, types.ModuleType, Set[tuple[str, str]]]:
    """Return the extracted module as text and loaded, and the statements that had to be replaced by their values.

    A statement that fails, or now gives another value than before, is replaced by the value that it gave.

    Args:
        add: adds what is to be extracted.
    """
    frozen: frozenset[tuple[str, str]] = frozenset()
    while True:
        extraction = Extraction(frozen)
        add(extraction)
        extracted = extraction.module()
        module, failure = None, None
        try:
            module = load(extracted)
        except Exception as error:  # noqa: BLE001 - whatever the user's statements raise
            failure = error
        changed = extraction.changed(module)
        if module is not None and changed <= frozen:
            return extracted, module, frozen | extraction.by_value
        if changed <= frozen:
            raise CannotPort(f"what the function needs cannot be computed again: {failure}", fix=FIX) from failure
        frozen |= changed
