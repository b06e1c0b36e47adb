"""The inputs of a user's op as source, for the test that is written beside a port."""

from __future__ import annotations

import ast

from pyopbench.model.function_source import globals_read
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.paths import real_path
from pyopbench.ports.porting.facts import SEEDS
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.render import Code
from pyopbench.ports.porting.source import Source, read_source
from pyopbench.ports.porting.units import Unit, Units, module_of

CHECKED_SIZES = 2


def add_inputs(units: Units, target: Target, source: Source, op: Op) -> str:
    """Return the list of arguments that a test calls the port with, and add what that needs.

    Args:
        units: what the test has of the user's files.
        target: the op.
        source: the file of its body.
        op: the op.

    Raises:
        CannotPort: it cannot be seen where the inputs come from.
    """
    if target.function:
        given = [_expression(one) for one in target.expressions]
        return f"[({', '.join(given)}{',' if len(given) == 1 else ''})]"
    home = read_source(target.place) if target.is_file else source
    statement, value = _inputs_of(home)
    unit = Unit(home, statement, "", frozenset(globals_read(ast.copy_location(ast.Expr(value), value))))
    for name in sorted(unit.reads):
        units.need(home, name)
    code = Code(units)
    code.source, code.unit = home, unit
    text = code.write(value)
    if op.own is not None and op.own.fixed_sizes:
        # How a list of examples is written does not matter: `INPUTS`, a comprehension, what a function returns.
        return text if isinstance(vars(module_of(home))["OP"].inputs, list) else f"[{text}]"
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


def _inputs_of(source: Source) -> tuple[ast.stmt, ast.expr]:
    for statement in reversed(source.tree.body):
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
        if "OP" in names:
            named = [keyword.value for keyword in statement.value.keywords if keyword.arg == "inputs"]
            for value in (*named, *statement.value.args[:1]):
                return statement, value
    raise CannotPort(
        "`OP = OwnOp(inputs=...)` is not written in the file, so that the test has no inputs", place=(source.path, 1)
    )
