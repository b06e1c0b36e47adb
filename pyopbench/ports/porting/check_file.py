"""The test of a port: a copy of the body that it replaces, of `port_check`, and the arguments of both."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyopbench.ports
from pyopbench.ports.porting.facts import Facts
from pyopbench.ports.porting.module_text import copied_module, module_text, require_free
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.units import Code, Units

MODULE = Path(pyopbench.ports.__path__[0]) / "port_check.py"
"""The code that each test has a copy of. It is read and not imported, because it imports TensorFlow."""

PORT, CHECK = "module_of_port", "check"
"""Names in a test of the module of the port, and of the `PortCheck`."""

TEST = '''
def {name}():
    """{says}"""
    {check}.{method}()
'''

RUN = """
if __name__ == "__main__":
{calls}
    print("passed: {names}")
"""


@dataclass(frozen=True)
class Old:
    """The body that a port is compared with, and the inputs of both."""

    units: Units
    """The body and what it needs, the gradient, and what draws the inputs."""
    function: str
    """The name of the body."""
    examples: str
    """A list of tuples of arguments, as source."""
    tolerance: float
    gradient: str
    """The name of the gradient; empty where there is none, and differences are taken."""
    options: Mapping[str, Any]
    """Further arguments of `PortCheck`."""


def check_file(module: str, facts: Facts, old: Old, methods: Sequence[str]) -> str:
    """Return the text of a test.

    Args:
        module: the name of the module that the port is in.
        facts: what the port takes and returns.
        old: the reference.
        methods: the names of the methods of `PortCheck` that it calls.

    Raises:
        CannotPort: the user's code has a name that a test needs, or imports a module that the port would hide.
    """
    units = old.units
    imports, copied, bound = copied_module(MODULE)
    tests = {f"test_{method.removeprefix('seeded_')}": method for method in methods}
    if module in {one.split()[1].partition(".")[0] for one in units.imports.values()}:
        raise CannotPort(f"your function imports `{module}`, which the port would hide", fix="choose another --out")
    of_tests = {name for name in units.by_name if name.startswith("test_")}  # they would be run as tests
    require_free(units, {*bound, PORT, CHECK, *of_tests}, imports)
    statements = [*Code(units).write_units().values(), copied, _check(facts, old)]
    checks = [one for one in ast.walk(ast.parse(copied)) if isinstance(one, ast.FunctionDef)]
    says = {one.name: ast.get_docstring(one) for one in checks}
    statements += [
        TEST.format(name=name, says=says[method], check=CHECK, method=method) for name, method in tests.items()
    ]
    calls = "\n".join(f"    {name}()" for name in tests)
    statements.append(RUN.format(calls=calls, names=", ".join(tests)))
    each = " for each example" if old.options["is_of_batch"] else ""
    docstring = f"""Checks a port against the body that it replaces.

`{module}.{facts.function}` has to do what `{old.function}` of {facts.file}
does{each}, of which this file has a copy.
"""
    return module_text(docstring, statements, units, [f"import {module} as {PORT}"], imports)


def _check(facts: Facts, old: Old) -> str:
    """Return the statement that binds the `PortCheck`."""
    options = {**old.options, "gradient": old.gradient, "differentiable": list(facts.differentiable)}
    if facts.differentiable:
        options["floating"] = list(facts.floating)
    texts = [f"{name}={value if name == 'gradient' else repr(value)}" for name, value in options.items() if value]
    if facts.known:
        texts.append("takes_unknown_sizes=False")
    first = [f"{PORT}.{facts.function}", old.function, f"lambda rng: {old.examples}", repr(old.tolerance)]
    return f"{CHECK} = PortCheck({', '.join([*first, *texts])})"
