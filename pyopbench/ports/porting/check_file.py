"""The test of a port or an arrangement: a copy of the body that it replaces, of `port_check`, and their arguments."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pyopbench.ports
from pyopbench.model.arrangement import read_key
from pyopbench.model.files import real_path
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.model.syntax import Source, read_source
from pyopbench.model.variant import BATCHED
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.extraction import Extraction
from pyopbench.ports.porting.body_code import DRAWN_ALIKE
from pyopbench.ports.porting.facts import SEEDS
from pyopbench.ports.porting.module_text import Code, Units, copied_module, format_text, module_text, require_free
from pyopbench.ports.porting.port import add_bodies, refusals_of_user
from pyopbench.ports.porting.writers import PortModule

MODULE = Path(pyopbench.ports.__path__[0]) / "port_check.py"
"""The code that each test has a copy of. It is read and not imported, because it imports TensorFlow."""

PORT, CHECK = "module_of_port", "check"
"""Names in a test of the module of the port, and of the `PortCheck`."""

CHECKED_SIZES = 2


@refusals_of_user()
def write_test(op: Op, target: Target, variant: str, module: str, port: PortModule) -> str:
    """Return the text of a test.

    Args:
        op: whose body was ported or arranged.
        target: what names the op on a command line.
        variant: that of the port, or the key of the arrangement.
        module: the name of the module that it is in.
        port: what was written.

    Raises:
        CannotPort: the user's code has a name that a test needs, or imports a module that the port would hide.
    """
    key, own, facts = read_key(variant), op.own, port.facts
    options = {
        "keywords": own.keywords if own is not None else (),
        "is_of_batch": variant in BATCHED or (key is not None and key.batch > 0),
        "takes_tensors": op.py_function is not None,
        "needs_sizes": facts.needs_sizes,
        "is_random": own is not None and own.is_random and port.drawn is None,
    }
    methods = ["values"]
    if key is not None:
        methods = ["in_a_dataset"]
    elif port.drawn is not None:
        methods = ["seeded_values" if port.drawn <= DRAWN_ALIKE else "distribution", "draws"]
    methods += ["dataset_of_batches"] if variant in BATCHED else []
    if key is None and facts.differentiable:  # no gradient flows through a dataset
        methods.append("gradient")
        options |= {"differentiable": list(facts.differentiable), "floating": list(facts.floating)}
    else:
        op = replace(op, numpy_gradient=None)

    units, names, examples = _original(op, target, port)
    imports, copied, bound = copied_module(MODULE)
    if module in {one.split()[1].partition(".")[0] for one in units.imports.values()}:
        raise CannotPort(f"your function imports `{module}`, which the port would hide", fix="choose another --out")
    of_tests = {name for name in units.by_name if name.startswith("test_")}  # they would be run as tests
    require_free(units, {*bound, PORT, CHECK, *of_tests}, imports)
    given = [f"{PORT}.{port.function}", names[-1], f"lambda rng: {examples}", repr(op.tolerance[op.dtypes[0]])]
    given += [f"{name}={value!r}" for name, value in options.items() if value]
    given += [f"body_gradient={names[0]}"] if op.numpy_gradient is not None else []
    statements = [*Code(units).write_units().values(), copied, f"{CHECK} = PortCheck({', '.join(given)})"]
    checks = [one for one in ast.walk(ast.parse(copied)) if isinstance(one, ast.FunctionDef)]
    says = {one.name: ast.get_docstring(one) for one in checks}
    tests = {f"test_{method.removeprefix('seeded_')}": method for method in methods}
    statements += [f'def {name}():\n    """{says[one]}"""\n    {CHECK}.{one}()' for name, one in tests.items()]
    calls = "".join(f"    {name}()\n" for name in tests)
    statements.append(f'if __name__ == "__main__":\n{calls}    print("passed: {", ".join(tests)}")')
    each = " for each example" if options["is_of_batch"] else ""
    docstring = f"""Checks a port against the body that it replaces.

`{module}.{port.function}` has to do what `{names[-1]}` of {facts.file}
does{each}, of which this file has a copy.
"""
    return format_text(module_text(docstring, statements, units, [f"import {module} as {PORT}"], imports))


def _original(op: Op, target: Target, port: PortModule) -> tuple[Units, tuple[str, ...], str]:
    """Return the user's functions, the names of gradient and body, and a list of tuples of arguments as source."""
    extraction = Extraction(port.frozen)
    if not target.function:
        home = _module_of(target)
        value = _inputs_of(read_source(str(home.__file__)))
        drawn = extraction.add_expression(vars(home), str(home.__file__), value)
    # The test has the user's own function, also where the port is written from one that takes arrays.
    add_bodies(op if op.py_function is None else replace(op, numpy=op.py_function), extraction)
    of_test = extraction.module()
    if not target.function:
        examples = _drawn(ast.unparse(drawn.node), value, op, is_list=isinstance(home.OP.inputs, list))
    else:
        examples = f"[({''.join(f'{_expression(one)}, ' for one in target.expressions)})]"
    return Units(read_source(of_test.path)), tuple(of_test.names), examples


def _module_of(target: Target) -> ModuleType:
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
    return f"[{called}(size, np.random.default_rng(seed)) for size in [{sizes}] for seed in range({SEEDS})]"


def _expression(text: str) -> str:
    """Return an input as a part of a tuple."""
    if text.endswith(".npy"):
        return f"np.load({str(real_path(text))!r})"  # the test is run in any folder
    return ast.unparse(ast.parse(text.strip(), mode="eval"))


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
