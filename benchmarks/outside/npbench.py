"""Try ports of the benchmarks of NPBench, programs that nobody here wrote, and keep what became of each.

    git clone https://github.com/spcl/npbench ~/npbench
    python benchmarks/outside/npbench.py ~/npbench                        # all: results/outside/npbench.json
    python benchmarks/outside/npbench.py ~/npbench gemm nbody --json x.json
    python -m venv ~/peers && ~/peers/bin/pip install jax numba scipy     # what they are compared with, once
    python benchmarks/outside/npbench.py ~/npbench --resume --time --peers ~/peers/bin/python

Of each benchmark an op file is made in a temporary folder, with the file of its NumPy function next to it, as it is.
The body calls that function and returns what it returns and what it writes, of copies. Numbers of Python's among the
arguments are constants; a benchmark that has no arrays gets its floats as inputs. Sizes are those of the preset S,
with every integer of at least 16 halved until NumPy takes less than 0.2 s of CPU time and the inputs less than 8 MB.
There are three sets of inputs: other draws, or the first one scaled by 0.9 and 0.8 if nothing is drawn. Where
NPBench allows more than usual, the tolerance is what it usually allows. Gradients are not asked for: these programs
have none.

For `traced`, `numba_op` and `traced_xla` it is said whether the form is right on these inputs, and for the first two
whether `pyopbench port` writes a file that passes its test. With `--time`, calls of the right forms are timed on one
core, one benchmark after another, and so are NPBench's own versions for JAX and Numba by the Python that `--peers`
names, which has `jax`, `numba` and `scipy`; with `--resume`, of what is stored only the times that are missing are
taken. The times need an idle machine, all else does not.

Exit codes: 0 done, 1 a benchmark could not be examined, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stored_document
from bodies.tables import files_text
from corpus import PACKAGES, examine
from markdown_table import cell, table
from outside import tallies
from pyopbench.model.failures import describe_error
from pyopbench.model.modules import load_file

HERE = Path(__file__).resolve().parent
STORED = tallies.RESULTS / "npbench.json"
VERSION = 1

PRESET = "S"
MOST_SECONDS = 0.2
MOST_BYTES = 8e6
LEAST_HALVED = 16
"""The smallest integer that is halved: smaller ones are often the sizes of kernels, counts of channels, or powers."""

STEP_SECONDS = 600.0
"""As `pyopbench port` allows."""

DRAWS = 3
SCALE = 0.1
"""By how much less the floats of each further set of inputs are, where nothing is drawn."""

FORMS = ("traced", "numba_op", "traced_xla")
WRITTEN = ("traced", "numba_op")

WELL = ("right", "passed")
FASTEST = "the fastest of them"
BY_HAND = "{} by hand"

ALL = (*FORMS, *(f"{one} written" for one in WRITTEN))

USUAL_ERROR = 1e-5
"""What NPBench allows of all programs but those for which it names more: these are ill-conditioned."""

CORE = "0"
TIMING_SECONDS = 180.0
"""How long timing one program may take."""

OP_FILE = '''"""{title}, of NPBench."""

import numpy as np
from pyopbench import OwnOp

from {module} import {function}


def {name}({inputs}):
{copies}    {call}
    return {returned}


def inputs(size, rng):
    """Return one of {draws} sets of inputs: another one by each of the first {draws} seeds."""
    stored, draw = np.load({stored!r}), rng.integers({range}) % {draws}
    return tuple(stored[f"{{name}}_{{draw}}"] for name in {names})


OP = OwnOp(inputs=inputs, sizes=({size},), numpy={name}, differentiable=(){tolerance})
'''


@dataclass
class Program:
    """A benchmark of NPBench, with arguments.

    Attributes:
        info: its entry in `bench_info`.
        folder: of its files.
        function: that computes it in NumPy.
        parameters: its sizes.
        draws: the values of its arguments by name, for each set of inputs.
    """

    info: Mapping[str, Any]
    folder: Path
    function: Any
    parameters: dict[str, Any]
    draws: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A name that a module can have."""
        return f"npbench_{self.info['short_name']}"

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments, in order."""
        return list(self.info["input_args"])

    @property
    def inputs(self) -> list[str]:
        """The arguments that are inputs of the op: arrays, or the floats of a benchmark without arrays."""
        floats = [one for one in self.arguments if isinstance(self.draws[0][one], float)]
        return list(self.info["array_args"]) or floats


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    options = _read(arguments)
    infos = _infos(options.folder, options.names)
    if not infos:
        print(f"no benchmark of that name in {options.folder / 'bench_info'}", file=sys.stderr)
        return 2
    document = {**stored_document.begin(VERSION, PACKAGES, _settings(options)), "counts": {}, "benchmarks": []}
    if options.resume and options.json and options.json.exists():
        document = stored_document.read_to_go_on(options.json, document)
    stored = {one["benchmark"]: one for one in document["benchmarks"]}
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        with ThreadPoolExecutor(1 if options.time else options.processes) as pool:
            look = partial(_became, options=options, work=work, stored=stored)
            for found in pool.map(look, [one for one in infos if _is_left(stored.get(one["short_name"]), options)]):
                stored[found["benchmark"]] = found
                document["benchmarks"] = list(stored.values())
                document["counts"] = counts(document["benchmarks"])
                print(_line(found), file=sys.stderr, flush=True)
                if options.json:
                    stored_document.write(options.json, document)
    print("\n".join(part(document) for part in (totals, obstacles, times)))
    return 1 if any("failed" in one for one in document["benchmarks"]) else 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="a checkout of NPBench")
    parser.add_argument("names", nargs="*", metavar="NAME", help="short names of benchmarks; all if none is named")
    parser.add_argument("--forms", default=",".join(ALL), help=f"what is tried ({','.join(ALL)})")
    parser.add_argument("--work", type=Path, help="keep the op files here")
    parser.add_argument("--time", action="store_true", help="also how long a call takes, on one core")
    parser.add_argument(
        "--peers", type=Path, help="the Python that has jax, numba and scipy, for NPBench's own versions"
    )
    options = tallies.read_options(parser, arguments, STEP_SECONDS, STORED)
    if not (options.folder / "bench_info").is_dir():
        parser.error(f"{options.folder} is no checkout of NPBench: it has no folder bench_info")
    if options.peers and (why := _why_no_peers(options.peers)):
        parser.error(
            f"{options.peers} cannot run NPBench's versions for JAX and Numba: {why}. Create one that can: "
            "python -m venv ~/peers && ~/peers/bin/pip install jax numba scipy"
        )
    return options


def _why_no_peers(python: Path) -> str:
    """Return what a Python installation lacks to time versions by hand; empty if it has everything."""
    try:
        command = [str(python), "-c", "import jax, numba, scipy"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["it ended"])[-1] if done.returncode else ""


def _is_left(stored: Mapping[str, Any] | None, options: argparse.Namespace) -> bool:
    """Is a benchmark to be examined, or timed?"""
    return stored is None or (options.time and "failed" not in stored and "seconds" not in stored)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    limits = {"preset": PRESET, "most_seconds": MOST_SECONDS, "most_bytes": MOST_BYTES, "step_seconds": options.seconds}
    return {**limits, "forms": options.forms, "draws": DRAWS}


def _infos(folder: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    files = sorted((folder / "bench_info").glob("*.json"))
    found = [json.loads(one.read_text(encoding="utf-8"))["benchmark"] for one in files]
    return [one for one in found if not names or one["short_name"] in names]


def _became(
    info: Mapping[str, Any], options: argparse.Namespace, work: Path, stored: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return what became of a benchmark."""
    kept: dict[str, Any] = {"benchmark": info["short_name"], "path": info["relative_path"]}
    kept |= stored.get(info["short_name"], {})
    folder = work / info["short_name"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        program = prepare(info, options.folder / "npbench" / "benchmarks" / info["relative_path"], kept.get("sizes"))
        path = write_op(program, folder)
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        return kept | {"failed": describe_error(error), "forms": []}
    if "forms" not in kept:
        script = [str(HERE / "examine_program.py"), "--forms", options.forms, "--test-seconds", str(options.seconds)]
        found = examine(path, form_seconds=options.seconds, script=script)
        kept = kept | {"sizes": program.parameters, **{key: found[key] for key in ("failed", "forms") if key in found}}
    if options.time and "failed" not in kept:
        right = [one["form"] for one in kept["forms"] if one["became"] == "right" and one["form"] in FORMS]
        kept = kept | {"seconds": _times(path, right, options)}
    return kept


def prepare(info: Mapping[str, Any], folder: Path, sizes: Mapping[str, Any] | None = None) -> Program:
    """Return a benchmark with its arguments, of sizes at which NumPy takes a moment if none are given."""
    name = f"{info['module_name']}_numpy"
    module = load_file(folder / f"{name}.py", f"npbench_{name}")
    program = Program(info, folder, getattr(module, info["func_name"]), dict(sizes or info["parameters"][PRESET]))
    while True:
        program.draws = [_draw(program, 0)]
        if sizes:
            break
        seconds = min(_seconds(program) for _ in range(2))
        of_inputs = sum(np.asarray(program.draws[0][one]).nbytes for one in program.inputs)
        if seconds < MOST_SECONDS and of_inputs < MOST_BYTES:
            break
        smaller = {name: _halved(value) for name, value in program.parameters.items()}
        if smaller == program.parameters:
            break
        program.parameters = smaller
    program.draws += [_draw(program, draw) for draw in range(1, DRAWS)]
    first, *others = program.draws
    for draw, values in enumerate(others, start=1):
        for name in program.inputs:
            array = np.asarray(values[name])
            if np.array_equal(array, first[name]) and array.dtype.kind in "fc":
                values[name] = (array * (1 - SCALE * draw)).astype(array.dtype)
    return program


def _halved(value: Any) -> Any:
    return value // 2 if type(value) is int and value >= LEAST_HALVED else value


def _draw(program: Program, draw: int) -> dict[str, Any]:
    """Return the arguments; those of the first draw are NPBench's own."""
    values, init = dict(program.parameters), program.info.get("init")
    if not init:
        return values
    name = program.info["module_name"]
    function = getattr(load_file(program.folder / f"{name}.py", f"npbench_{name}"), init["func_name"])
    generator = np.random.default_rng
    reseeded = generator if draw == 0 else lambda seed=0: generator((seed, draw))
    with mock.patch("numpy.random.default_rng", reseeded):
        made = function(*(values[one] for one in init["input_args"]))
    several = made if len(init["output_args"]) > 1 else (made,)
    return {**values, **dict(zip(init["output_args"], several, strict=True))}


def _seconds(program: Program) -> float:
    given = _copies(program)
    began = time.process_time()  # which other work on the machine hardly changes
    with np.errstate(all="ignore"):
        program.function(*given)
    return time.process_time() - began


def _copies(program: Program) -> list[Any]:
    values = program.draws[0]
    return [np.copy(values[one]) if one in program.info["array_args"] else values[one] for one in program.arguments]


def write_op(program: Program, folder: Path) -> Path:
    """Write the files of an op into a folder; return the one that ends with it."""
    given = _copies(program)
    before = [np.copy(one) if isinstance(one, np.ndarray) else one for one in given]
    with np.errstate(all="ignore"):
        returned = program.function(*given)
    pairs = list(zip(program.arguments, before, given, strict=True))
    changed = {name for name, old, new in pairs if isinstance(new, np.ndarray) and old.tobytes() != new.tobytes()}
    # What is an output may be written without a change, as zeros are by zeros.
    written = [name for name in program.arguments if name in changed | set(program.info["output_args"])]
    same = {name for name, _, new in pairs if new is returned}
    outputs = [one for one in program.info["output_args"] if one not in same]
    several = len(returned) if isinstance(returned, tuple) else int(returned is not None)
    found = [f"found_{place}" for place in range(several)]
    call = f"{program.info['func_name']}({', '.join(_argument(one, program) for one in program.arguments)})"
    targets = ", ".join(found) + ("," if isinstance(returned, tuple) and several == 1 else "")
    results = [*found, *(outputs or ([] if found else written))]
    module = f"{program.info['module_name']}_numpy"
    shutil.copy(program.folder / f"{module}.py", folder)
    arrays = {f"{name}_{draw}": values[name] for draw, values in enumerate(program.draws) for name in program.inputs}
    np.savez(folder / "inputs.npz", **arrays)
    size = max(np.size(program.draws[0][one]) for one in program.inputs)
    text = OP_FILE.format(
        title=program.info["name"],
        module=module,
        function=program.info["func_name"],
        name=program.name,
        inputs=", ".join(program.inputs),
        copies="".join(f"    {one} = {one}.copy()\n" for one in written),
        call=f"{targets} = {call}" if found else call,
        returned=", ".join(results),
        stored=str(folder / "inputs.npz"),
        names=program.inputs,
        draws=DRAWS,
        tolerance=f", tolerance={USUAL_ERROR}" if program.info.keys() & {"rtol", "norm_error"} else "",
        range=_range_that_tells_seeds(program.name, size),
        size=size,
    )
    path = folder / f"{program.name}.py"
    path.write_text(text, encoding="utf-8")
    constants = {one: _literal(program.draws[0][one]) for one in program.arguments if one not in program.inputs}
    call_of = {"arguments": program.arguments, "inputs": program.inputs, "constants": constants, "written": written}
    where = {"folder": str(program.folder), "module": program.info["module_name"]}
    described = {**where, "function": program.info["func_name"], "outputs": outputs, **call_of}
    (folder / "call.json").write_text(json.dumps(described), encoding="utf-8")
    return path


def _range_that_tells_seeds(name: str, size: int) -> int:
    """Return a range of integers of which generators with the first seeds draw numbers of different remainders.

    With the seeds that the test of a port has, and with those of `pyopbench.ops.load.make_inputs`.
    """
    of_test = range(DRAWS)
    of_plan = [[seed, size, *name.encode()] for seed in range(DRAWS)]
    return next(end for end in range(DRAWS, 10_000) if all(_differ(seeds, end) for seeds in (of_test, of_plan)))


def _differ(seeds: Sequence[Any], end: int) -> bool:
    return len({int(np.random.default_rng(seed).integers(end)) % DRAWS for seed in seeds}) == DRAWS


def _argument(name: str, program: Program) -> str:
    return name if name in program.inputs else _literal(program.draws[0][name])


def _literal(value: Any) -> str:
    return f"np.{type(value).__name__}({value.item()!r})" if isinstance(value, np.generic) else repr(value)


def _times(path: Path, right: Sequence[str], options: argparse.Namespace) -> dict[str, float | str]:
    """Return how long a call of each takes on one core, in seconds; what is no number says why."""
    programs = [("pyopbench", sys.executable, [HERE / "examine_program.py", path, "--seconds", ",".join(right)])]
    if options.peers:
        script = [HERE / "peer_times.py", path.parent]
        programs += [(BY_HAND.format(one), str(options.peers), [*script, one]) for one in ("jax", "numba")]
    return dict(pair for program in programs for pair in _timed(*program))


def _timed(name: str, python: str, rest: Sequence[Any]) -> Iterator[tuple[str, float | str]]:
    """Yield seconds by name, those that were known before a process ended or took too long, and the outcome."""
    command = ["taskset", "-c", CORE, python, *map(str, rest)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMING_SECONDS, check=False)
        lines = done.stdout.strip().splitlines()
        why = (done.stderr.strip().splitlines() or ["it ended"])[-1][:200] if done.returncode or not lines else ""
    except subprocess.TimeoutExpired as error:
        lines = (error.stdout or b"").decode().strip().splitlines()
        why = f"took longer than {TIMING_SECONDS:g} s"
    if lines:
        yield from json.loads(lines[-1]).items()
    if why:
        yield name, why


def counts(found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return for how many benchmarks each form is right, wrong or not there, and each file is written."""
    each = Counter(f"{form['form']}: {form['became']}" for one in found for form in one["forms"])
    return {
        "benchmarks": len(found),
        "not examined": sum("failed" in one for one in found),
        **dict(sorted(each.items())),
    }


def totals(document: Mapping[str, Any]) -> str:
    """Return for how many benchmarks each form is right, and each file is written, as Markdown."""
    found = document["benchmarks"]
    rows = [(what, tallies.share(sum(_became_well(one, what) for one in found), len(found))) for what in ALL]
    of_forms = [{"body": one["benchmark"], "forms": one["forms"]} for one in found]
    return table(("port", "right, or written and its test passed"), rows) + files_text(of_forms)


def _became_well(one: Mapping[str, Any], what: str) -> bool:
    return any(form["form"] == what and form["became"] in WELL for form in one["forms"])


def obstacles(document: Mapping[str, Any]) -> str:
    """Return a row for each form that is not right and each file that is not written, with the reason, as Markdown."""
    rows = [(_of(one), "all", "failed", cell(one["failed"])) for one in document["benchmarks"] if "failed" in one]
    rows += [
        (_of(one), form["form"], form["became"], cell(form["reason"]))
        for one in document["benchmarks"]
        for form in one["forms"]
        if form["became"] not in WELL
    ]
    return table(("benchmark", "port", "became", "reason"), rows) if rows else "Everything is right and written.\n"


def _of(one: Mapping[str, Any]) -> str:
    return f"`{one['benchmark']}`"


def times(document: Mapping[str, Any]) -> str:
    """Return how fast ports are compared with versions by hand, and milliseconds for each benchmark, as Markdown."""
    timed = [(one, one["seconds"]) for one in document["benchmarks"] if "seconds" in one]
    if not timed:
        return "No times are stored with this version.\n"
    peers = (*(BY_HAND.format(one) for one in ("jax", "numba")), "numpy")
    every = [{**_numbers(seconds), FASTEST: _fastest(seconds)} for _, seconds in timed]
    ratios = [(what, *(_ratio(every, what, peer) for peer in peers)) for what in (*FORMS, FASTEST)]
    names = ("numpy", *FORMS, *peers[:-1])
    rows = [(_of(one), *(_in_ms(seconds.get(name)) for name in names)) for one, seconds in timed]
    head = ("port", *(f"times as fast as {peer}: median, quarters, benchmarks" for peer in peers))
    return f"{table(head, ratios)}\n{table(('milliseconds of a call', *names), rows)}"


def _numbers(seconds: Mapping[str, float | str]) -> dict[str, float]:
    return {name: one for name, one in seconds.items() if isinstance(one, float)}


def _fastest(seconds: Mapping[str, float | str]) -> float:
    return min((one for name, one in _numbers(seconds).items() if name in FORMS), default=math.nan)


def _ratio(timed: Sequence[Mapping[str, float]], what: str, peer: str) -> str:
    both = [one[peer] / one[what] for one in timed if peer in one and not math.isnan(one.get(what, math.nan))]
    if not both:
        return ""
    low, middle, high = np.quantile(both, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}-{high:.2f}), {len(both)}"


def _in_ms(seconds: float | str | None) -> str:
    return "" if not isinstance(seconds, float) else f"{seconds * 1e3:.3g}"


def _line(one: Mapping[str, Any]) -> str:
    forms = ", ".join(f"{form['form']} {form['became']}" for form in one["forms"])
    return f"{one['benchmark']}: {one.get('failed') or forms}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
