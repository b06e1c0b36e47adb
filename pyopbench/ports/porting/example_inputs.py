"""The inputs of a user's op as source, for the test that is written beside a port."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import ModuleType

from pyopbench.model.extract import Extraction
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.paths import real_path
from pyopbench.model.source_text import Source, read_source
from pyopbench.ports.porting.facts import SEEDS
from pyopbench.ports.porting.refusal import CannotPort

CHECKED_SIZES = 2


def add_inputs(extraction: Extraction, target: Target, op: Op) -> Callable[[], str]:
    """Add what draws the inputs of a test, and return what returns the list of arguments that it calls the port with.

    Args:
        extraction: what the test has of the user's files.
        target: the op.
        op: the op.

    Raises:
        CannotExtract: what they need cannot be taken along.
        CannotPort: it cannot be seen where the inputs come from.
    """
    if target.function:
        given = [_expression(one) for one in target.expressions]
        return lambda: f"[({', '.join(given)}{',' if len(given) == 1 else ''})]"
    home = module_of(target)
    value = _inputs_of(read_source(str(home.__file__)))
    added = extraction.add_expression(vars(home), str(home.__file__), value)
    return lambda: _drawn(extraction.expression(added), value, op, is_list=isinstance(home.OP.inputs, list))


def module_of(target: Target) -> ModuleType:
    """Return the module of an op's file, which is loaded."""
    if not target.is_file:
        return sys.modules[target.place]
    return next(one for one in list(sys.modules.values()) if getattr(one, "__file__", None) == target.place)


def _drawn(text: str, value: ast.expr, op: Op, *, is_list: bool) -> str:
    if op.own is not None and op.own.fixed_sizes:
        # How a list of examples is written does not matter: `INPUTS`, a comprehension, what a function returns.
        return text if is_list else f"[{text}]"
    sizes = ", ".join(map(str, op.quick_sizes[:CHECKED_SIZES]))
    called = text if isinstance(value, ast.Name | ast.Attribute) else f"({text})"
    comma = "," if len(op.quick_sizes[:CHECKED_SIZES]) == 1 else ""
    return f"[{called}(size, np.random.default_rng(seed)) for size in ({sizes}{comma}) for seed in range({SEEDS})]"


def _expression(text: str) -> str:
    """Return an input as a part of a tuple: without what ends a line, and several values in parentheses."""
    if text.endswith(".npy"):
        return f"np.load({str(real_path(text))!r})"  # the test is run in any folder
    tree = ast.parse(text.strip(), mode="eval")
    is_plain = not (isinstance(tree.body, ast.Tuple) or "#" in text or "\n" in text)
    return text.strip() if is_plain else ast.unparse(tree)


def _inputs_of(source: Source) -> ast.expr:
    for statement in reversed(source.tree.body):
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
        if "OP" in names:
            named = [keyword.value for keyword in statement.value.keywords if keyword.arg == "inputs"]
            for value in (*named, *statement.value.args[:1]):
                return value
    raise CannotPort(
        "`OP = OwnOp(inputs=...)` is not written in the file, so the test has no inputs", place=(source.path, 1)
    )
