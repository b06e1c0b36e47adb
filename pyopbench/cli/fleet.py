"""`pyopbench fleet`: the shards of one plan measured by many machines, over Dask.distributed."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from pyopbench.cli.checked_values import read_axes
from pyopbench.cli.output import err, out, print_table, say, say_error
from pyopbench.model import command_line as options
from pyopbench.model import formatting
from pyopbench.model.case import Axes
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput, WorkerLost
from pyopbench.model.printable import printable

if TYPE_CHECKING:
    from pyopbench.engine.fleet.scheduler import Access


EXIT_WRONG = 1
EXIT_MISSING = 3
EXIT_INTERRUPTED = 130


def run_fleet(
    context: typer.Context,
    *,
    scheduler: str,
    shards: int | None,
    send: Sequence[str],
    without_host: Sequence[str],
    patience_seconds: float,
    out_path: Path | None,
    **access: Any,
) -> int:
    """Measure on the hosts of a Dask scheduler; ops and other options are as for pyopbench run."""
    from pyopbench.engine.fleet import folder as fleet_folder
    from pyopbench.engine.fleet.dispatch import shards_of
    from pyopbench.engine.plan import new_folder

    if out_path is not None:
        fleet_folder.require_new(out_path)
    asked = parameters_of_run(context)
    files = fleet_folder.read_sent(send)
    ops, inputs = asked["ops"], asked["inputs"]
    fleet_folder.check_sent(ops, inputs, files)
    check_names(asked)
    connected = _access(scheduler, **access)
    with _connected(connected, patience_seconds) as connection:
        replicates = dict(asked["settings"]).get("replicates", 1)
        plan = fleet_folder.FleetPlan(
            words=list(context.args),
            own_words=fleet_folder.own_words(ops, inputs, asked["seed_with"]),
            shards=shards_of(connection, shards, replicates),
            replicates=replicates,
            files=[fleet_folder.PlannedFile(text=file.text, sha256=file.sha256) for file in files],
        )
        folder = out_path or new_folder()
        fleet_folder.create(folder, plan)
        return _go_on(folder, files, connection, list(without_host), patience_seconds)


def resume_fleet(
    folder: Path, *, scheduler: str, without_host: Sequence[str], patience_seconds: float, **access: Any
) -> int:
    """Measure what is missing of an interrupted fleet run."""
    from pyopbench.engine.fleet import folder as fleet_folder

    planned = fleet_folder.read_plan(folder).files
    files = fleet_folder.read_sent([file.text for file in planned], planned)
    connected = _access(scheduler, **access)
    with _connected(connected, patience_seconds) as connection:
        if without_host:
            with fleet_folder.locked(folder):
                gone = fleet_folder.leave_out(folder, without_host)
            say(f"left out: {formatting.count(len(gone), 'shard')} of {escape(formatting.listing(without_host))}", err)
        return _go_on(folder, files, connection, list(without_host), patience_seconds)


def examine_fleet(*, scheduler: str, patience_seconds: float, as_json: bool, **access: Any) -> int:
    """Show what each host is, which hosts are alike, and what each lacks."""
    import msgspec

    from pyopbench.engine.fleet.facts import kinds_of, problems_of

    connected = _access(scheduler, **access)
    with _connected(connected, patience_seconds, is_told=False) as connection:
        hosts = connection.workers()
    problems, kinds = [problem for host in hosts for problem in problems_of(host)], kinds_of(hosts)
    if as_json:
        out.print_json(json.dumps(msgspec.to_builtins({"hosts": hosts, "problems": problems, "kinds": kinds})))
    else:
        _print_hosts(hosts, problems, kinds)
    return 0 if kinds else EXIT_MISSING


def _access(
    scheduler: str,
    *,
    allow_address: Sequence[str],
    tls_ca_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> Access:
    from pyopbench.engine.fleet.scheduler import Access

    access = Access(scheduler, tuple(allow_address), tls_ca_file, tls_cert, tls_key)
    access.check()
    return access


@contextmanager
def _connected(access: Any, patience_seconds: float, *, is_told: bool = True) -> Iterator[Any]:
    from pyopbench.engine.fleet.scheduler import Scheduler

    with err.status(f"connecting to {escape(access.address)}"):
        connection = Scheduler(access, _tell if is_told else lambda event: None, patience_seconds)
    with connection:
        yield connection


def _tell(event: Any) -> None:
    from pyopbench.engine.fleet.messages import event_text

    say(escape(printable(event_text(event))), err)


def _go_on(folder: Path, files: Any, connection: Any, without: list[str], patience_seconds: float) -> int:
    """Run a fleet to its end, print what came of it, and return the exit code."""
    from pyopbench.engine.fleet.dispatch import Rules, measure_fleet
    from pyopbench.engine.fleet.messages import odd_text

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends it finds it as after Ctrl-C
    name = shlex.quote(str(folder))
    again = f"pyopbench fleet resume {name} --scheduler ADDRESS"
    try:
        with _progress() as show:
            rules = Rules(_tell, show, tuple(without), patience_seconds)
            result = measure_fleet(folder, files, connection, rules)
    except KeyboardInterrupt:
        err.print(f"interrupted; hosts keep finished shards, and those that arrived are in {escape(name)}")
        err.print(f"  resume: {escape(again)}", soft_wrap=True)
        return EXIT_INTERRUPTED
    except WorkerLost as lost:  # what came before is kept
        say_error(lost)
        err.print(f"  resume: {escape(again)}", soft_wrap=True)
        return lost.exit_code
    for odd in result.odd:
        say(f"[yellow]warning:[/] {escape(printable(odd_text(odd)))}")
        say(escape(printable(f"to measure it again on other hosts: {again} --without-host {odd.host}")), mark="  ")
    if result.missing:
        shards = formatting.listing([str(shard) for shard in result.missing])
        say(f"[yellow]missing:[/] shard {shards}; resume: {escape(again)}")
    out.print(f"merged: {escape(str(result.merged))}", soft_wrap=True)
    out.print(f"  report: {escape(f'pyopbench report {shlex.quote(str(result.merged))}')}", soft_wrap=True)
    return EXIT_MISSING if result.missing else EXIT_WRONG if result.is_wrong else 0


@contextmanager
def _progress() -> Iterator[Any]:
    """Show how many shards are here, who measures, and how long it will take."""
    from pyopbench.engine.fleet.messages import left_text, progress_text

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=err, refresh_per_second=2, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("waiting for hosts", total=1.0, left="")

        def show(snapshot: Any) -> None:
            bar.update(
                task,
                description=escape(progress_text(snapshot)),
                completed=snapshot.done / snapshot.of,
                left=left_text(snapshot),
            )

        yield show


def _print_hosts(hosts: Any, problems: Any, kinds: Any) -> None:
    from pyopbench.engine.fleet.messages import kinds_text, problem_text

    rows = [_row(host) for host in hosts if host.facts is not None]
    columns = ("host", "processor", "cores", "memory", "governor", "TensorFlow", "compiler", "GPUs", "clock")
    print_table("Hosts", columns, rows)
    for line in kinds_text(kinds) if kinds else ["no host answers"]:
        say(escape(printable(line)))
    for problem in problems:
        say(escape(printable(f"{problem.host} {problem_text(problem)}")), mark="- ")


def _row(one: Any) -> tuple[Any, ...]:
    facts = one.facts
    tensorflow = ", ".join(filter(None, (facts.tensorflow, *(f"--tf {version}" for version in facts.environments))))
    memory = "" if facts.memory_bytes is None else formatting.byte_count(facts.memory_bytes)
    clock = f"{one.offset_seconds:+.3f} s"
    machine = (facts.host, facts.cpu or "", facts.cores, memory, facts.governor or "")
    return (*machine, tensorflow, facts.compiler or "", ", ".join(facts.gpus), clock)


REPORTED = "leave it out, and give it to: pyopbench report DIR/merged"
NO_REPOSITORY = "leave it out: hosts have no repository of yours"
NOT_FOR_HOSTS = {
    "shard": "leave it out: --shards N divides the plan among the hosts",
    "rev": NO_REPOSITORY,
    "every": NO_REPOSITORY,
    "fail_on": NO_REPOSITORY,
    "mix": REPORTED,
    "calls_per_step": REPORTED,
    "step_seconds": REPORTED,
    "requires": REPORTED,
    "as_json": REPORTED,
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
                "the hosts of a fleet do not take this option",
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
