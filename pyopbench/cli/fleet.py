"""`pyopbench fleet`: the shards of one plan measured by many machines, over Dask.distributed."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from pyopbench.cli import epilogs
from pyopbench.cli.fleet_words import check_names, parameters_of_run
from pyopbench.cli.options import AsJson, Quiet, out_option
from pyopbench.cli.output import err, out, print_table, say, say_error
from pyopbench.model import formatting
from pyopbench.model.errors import WorkerLost
from pyopbench.model.ownership import require_own
from pyopbench.model.parse import parse_duration
from pyopbench.model.printable import printable

EXIT_WRONG = 1
EXIT_MISSING = 3
EXIT_INTERRUPTED = 130

fleet = typer.Typer(help="Measure on many machines, over Dask.", no_args_is_help=True)

Scheduler = Annotated[
    str, typer.Option("--scheduler", metavar="ADDRESS", help="The Dask scheduler, e.g. tls://host:8786.")
]
AllowAddress = Annotated[
    list[str] | None,
    typer.Option("--allow-address", metavar="HOST", help="Allow this host without TLS. Repeat for several."),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--tls-ca-file", metavar="FILE", help="CA certificates to check scheduler and hosts with."),
]
Certificate = Annotated[Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of this client.")]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key, if in a separate file.")]
WithoutHost = Annotated[
    list[str] | None, typer.Option("--without-host", metavar="HOST", help="Do not use this host. Repeat for several.")
]
Patience = Annotated[str, typer.Option(metavar="TIME", help="How long to wait for the scheduler or a host.")]


@fleet.callback()
def _fleet() -> None:
    """Measure on many machines, over Dask."""


@fleet.command("run", epilog=epilogs.FLEET, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_fleet(
    context: typer.Context,
    scheduler: Scheduler,
    shards: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of parts of the plan. Default: one per host.")
    ] = None,
    send: Annotated[
        list[str] | None,
        typer.Option("--send", metavar="FILE", help="Send this op file or input to the hosts. Repeat for several."),
    ] = None,
    allow_address: AllowAddress = None,
    tls_ca_file: CaFile = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    without_host: WithoutHost = None,
    patience: Patience = "60s",
    out_dir: Annotated[Path | None, out_option("DIR", "New folder for the fleet.")] = None,
    quiet: Quiet = False,
) -> None:
    """Measure on the hosts of a Dask scheduler; ops and other options are as for pyopbench run."""
    from pyopbench.engine.fleet import plan_folder, sent_files, whole
    from pyopbench.engine.fleet.addresses import Access

    if out_dir is not None:
        plan_folder.require_new(out_dir)
    asked = parameters_of_run(context)
    files = sent_files.read_sent(send or ())
    ops, inputs = asked["ops"] or [], asked["inputs"] or []
    sent_files.check_sent(ops, inputs, files)
    check_names(asked)
    own = sent_files.own_words(ops, inputs, asked["seed_with"])
    request = whole.FleetRequest(tuple(context.args), tuple(own), asked["replicates"], tuple(files), shards)
    access = Access(scheduler, tuple(allow_address or ()), tls_ca_file, tls_cert, tls_key)
    access.check()
    with _connected(access, parse_duration(patience)) as connection:
        folder = whole.begin(out_dir, request, connection)
        raise typer.Exit(_go_on(folder, files, connection, without_host or [], parse_duration(patience)))


@fleet.command("resume", epilog=epilogs.FLEET)
def resume_fleet(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a fleet that was interrupted.")],
    scheduler: Scheduler,
    allow_address: AllowAddress = None,
    tls_ca_file: CaFile = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    without_host: Annotated[
        list[str] | None,
        typer.Option("--without-host", metavar="HOST", help="Measure again what this host measured, on other hosts."),
    ] = None,
    patience: Patience = "60s",
    quiet: Quiet = False,
) -> None:
    """Measure what is missing of an interrupted fleet run."""
    from pyopbench.engine.fleet import plan_folder, whole
    from pyopbench.engine.fleet.addresses import Access

    require_own(folder)
    files = whole.read_files(folder)
    access = Access(scheduler, tuple(allow_address or ()), tls_ca_file, tls_cert, tls_key)
    access.check()
    with _connected(access, parse_duration(patience)) as connection:
        if without_host:
            with plan_folder.locked(folder):
                gone = plan_folder.leave_out(folder, without_host)
            say(f"left out: {formatting.count(len(gone), 'shard')} of {escape(formatting.listing(without_host))}", err)
        raise typer.Exit(_go_on(folder, files, connection, without_host or [], parse_duration(patience)))


@fleet.command("doctor")
def examine_fleet(
    scheduler: Scheduler,
    allow_address: AllowAddress = None,
    tls_ca_file: CaFile = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    patience: Patience = "10s",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show what each host is, which hosts are alike, and what each lacks."""
    from pyopbench.engine.fleet import doctor
    from pyopbench.engine.fleet.addresses import Access

    access = Access(scheduler, tuple(allow_address or ()), tls_ca_file, tls_cert, tls_key)
    access.check()
    with _connected(access, parse_duration(patience), is_told=False) as connection:
        examined, problems = doctor.examine(connection)
        may_steal = connection.may_steal()
    kinds = doctor.kinds_of(examined)
    if as_json:
        out.print_json(json.dumps(_as_json(examined, problems, kinds), default=str))
    else:
        _print_hosts(examined, problems, kinds, may_steal=may_steal)
    raise typer.Exit(0 if kinds else EXIT_MISSING)


@contextmanager
def _connected(access: Any, patience_seconds: float, *, is_told: bool = True) -> Iterator[Any]:
    from pyopbench.engine.fleet.connection import Connection
    from pyopbench.report.wording.fleet import event_text

    def tell(event: Any) -> None:
        if is_told:
            say(escape(printable(event_text(event))), err)

    with err.status(f"connecting to {escape(access.address)}"):
        connection = Connection(access, tell, patience_seconds)
    with connection:
        yield connection


def _go_on(folder: Path, files: Any, connection: Any, without: list[str], patience_seconds: float) -> int:
    """Run a fleet to its end, print what came of it, and return the exit code."""
    from pyopbench.engine.fleet import whole
    from pyopbench.engine.fleet.dispatch import Rules, Watch
    from pyopbench.report.wording.fleet import event_text, odd_text

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends it finds it as after Ctrl-C
    name = shlex.quote(str(folder))
    again = f"pyopbench fleet resume {name} --scheduler ADDRESS"
    try:
        with _progress() as show:
            watch = Watch(lambda event: say(escape(printable(event_text(event))), err), show)
            result = whole.go_on(folder, files, connection, watch, Rules(tuple(without), patience_seconds))
    except KeyboardInterrupt:
        err.print(f"interrupted; hosts keep what they have finished, and what came is in {escape(name)}")
        err.print(f"  resume: {escape(again)}", soft_wrap=True)
        return EXIT_INTERRUPTED
    except WorkerLost as lost:  # what came before is kept
        say_error(lost)
        err.print(f"  resume: {escape(again)}", soft_wrap=True)
        return lost.exit_code
    for odd in result.odd:
        say(f"[yellow]warning:[/] {escape(printable(odd_text(odd)))}")
        say(escape(printable(f"measured again by others: {again} --without-host {odd.host}")), mark="  ")
    if result.end.missing:
        shards = formatting.listing([str(shard) for shard in result.end.missing])
        say(f"[yellow]missing:[/] shard {shards}; resume: {escape(again)}")
    out.print(f"merged: {escape(str(result.merged))}", soft_wrap=True)
    out.print(f"  report: {escape(f'pyopbench report {shlex.quote(str(result.merged))}')}", soft_wrap=True)
    return EXIT_MISSING if result.end.missing else EXIT_WRONG if result.is_wrong else 0


@contextmanager
def _progress() -> Iterator[Any]:
    """Show how many shards are here, who measures, and how long it will take."""
    from pyopbench.report.wording.fleet import left_text, progress_text

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


def _print_hosts(examined: Any, problems: Any, kinds: Any, *, may_steal: bool | None) -> None:
    from pyopbench.report.wording.fleet import kinds_text, problem_text

    rows = [_row(one) for one in examined if one.facts is not None]
    columns = ("host", "processor", "cores", "memory", "governor", "TensorFlow", "compiler", "GPUs", "clock")
    print_table("Hosts", columns, rows)
    for line in kinds_text(kinds) if kinds else ["no host answers"]:
        say(escape(printable(line)))
    for problem in problems:
        say(escape(printable(f"{problem.host} {problem_text(problem)}")), mark="- ")
    if may_steal:
        say(
            "the scheduler has work stealing on; it has nothing to steal, since each shard is given to one host by name"
        )


def _row(one: Any) -> tuple[Any, ...]:
    facts = one.facts
    tensorflow = ", ".join(filter(None, (facts.tensorflow, *(f"--tf {version}" for version in facts.environments))))
    memory = "" if facts.memory_bytes is None else formatting.byte_count(facts.memory_bytes)
    clock = f"{one.offset_seconds:+.3f} s" if one.offset_seconds is not None else ""
    machine = (facts.host, facts.cpu or "", facts.cores, memory, facts.governor or "")
    return (*machine, tensorflow, facts.compiler or "", ", ".join(facts.gpus), clock)


def _as_json(examined: Any, problems: Any, kinds: Any) -> dict[str, Any]:
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins({"hosts": examined, "problems": problems, "kinds": kinds})
    return told
