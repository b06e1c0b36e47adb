"""What hosts of a fleet give to `pyopbench run`: read and checked here, before any host is asked."""

from __future__ import annotations

from typing import Any

import typer

from pyopbench.cli.read_options import read_axes
from pyopbench.model import options
from pyopbench.model.case import Axes
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput

REPORTED = "leave it out, and give it to: pyopbench report DIR/merged"
NO_REPOSITORY = "leave it out: hosts have no repository of yours"
NOT_FOR_HOSTS = {
    "shard": "leave it out: each host is given shards of --shards N",
    "rev": NO_REPOSITORY,
    "every": NO_REPOSITORY,
    "fail_on": NO_REPOSITORY,
    "mix": REPORTED,
    "calls_per_step": REPORTED,
    "step_seconds": REPORTED,
    "requires": REPORTED,
    "as_json": REPORTED,
    "threads": "leave it out, and measure calls from threads on one machine: pyopbench run OP --threads 1,2,4",
    "trust_folder": "leave it out: hosts measure into folders of their own",
}
"""Parameters of `run` that hosts are not given, and what to do instead."""


def parameters_of_run(context: typer.Context) -> dict[str, Any]:
    """Return what the words for `pyopbench run` mean, read as that command reads them."""
    root: Any = context.find_root().command
    command = root.commands["run"]
    asked = command.make_context("run", list(context.args), parent=context.find_root())
    for name, instead in NOT_FOR_HOSTS.items():
        source = asked.get_parameter_source(name) if name in asked.params else None
        if source is not None and source.name == "COMMANDLINE":
            option = next(one for one in command.params if one.name == name).opts[0]
            raise BadInput(
                "an option that the hosts of a fleet are not given",
                received=option,
                hint=instead,
            )
    return {one.name: one.value_of(asked.params[one.name]) for one in options.RUN}


def check_names(asked: dict[str, Any]) -> None:
    """Check what needs no TensorFlow to be checked, so that a slip is found before each host finds it."""
    fields = {name: asked[name] for name in ("variants", "gradients", "directions", "modes")}
    words = (asked[name] for name in ("ops", "inputs", "seed_with", "axis"))
    read_axes(Axes(), *words, **fields, placements=asked["device"])
    require_known("baseline", filter(None, [asked["baseline"]]), find("variants"))
