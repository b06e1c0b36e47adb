"""Try ports of the benchmarks of NPBench, programs that nobody here wrote, and print what became of them.

    git clone https://github.com/spcl/npbench ~/npbench
    python benchmarks/outside/npbench.py ~/npbench --json npbench.json
    python benchmarks/outside/npbench.py ~/npbench gemm nbody             # some
    python -m venv ~/peers && ~/peers/bin/pip install jax numba scipy     # what they are compared with, once
    python benchmarks/outside/npbench.py ~/npbench --json times.json --time --peers ~/peers/bin/python

Of each benchmark an op file is made in a temporary folder, with the file of its NumPy function next to it, as it is.
The body calls that function and returns what it returns and what it writes, of copies. Numbers of Python's among the
arguments are constants; a benchmark that has no arrays gets its floats as inputs. Sizes are those of the preset S,
with every integer of at least 16 halved until NumPy takes less than 0.2 s of CPU time and the inputs less than 8 MB.
There are three sets of inputs: other draws, or the first one scaled by 0.9 and 0.8 if nothing is drawn. Where
NPBench allows more than usual, the tolerance is what it usually allows. Gradients are not asked for: these programs
have none.

With `--time`, calls of the right forms are timed on one core, one benchmark after another, and so are NPBench's own
versions for JAX and Numba by the Python that `--peers` names. A version that returns something else than NumPy's is
named and left out. The times need an idle machine, all else does not. Exit codes: 0 done, 1 a port is silently wrong or
a benchmark could not be examined, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyopbench.model.errors import describe_error
from pyopbench.model.files import load_file
from tally import Document, examine, exit_code, new_parser, obstacles_table, outcomes_table, parse_options, table

PEER_TIMES = Path(__file__).with_name("peer_times.py")
PEERS = ("jax", "numba")

PRESET = "S"
MOST_SECONDS = 0.2
MOST_BYTES = 8e6
LEAST_HALVED = 16
"""The smallest integer that is halved: smaller ones are often the sizes of kernels, counts of channels, or powers."""

DRAWS = 3
SCALE = 0.1
"""By how much less the floats of each further set of inputs are, where nothing is drawn."""

FORMS = ("traced", "numba_op", "traced_xla")
FASTEST = "the fastest of them"

USUAL_ERROR = 1e-5
"""What NPBench allows of all programs but those for which it names more: these are ill-conditioned."""

ON_ONE_CORE = ("taskset", "-c", "0")
TIMING_SECONDS = 180.0
"""How long timing one version by hand may take."""

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
    """Examine benchmarks; return the exit code."""
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a checkout of NPBench")
    parser.add_argument("names", nargs="*", metavar="NAME", help="short names of benchmarks; all if none is named")
    parser.add_argument("--time", action="store_true", help="also how long a call takes, on one core")
    parser.add_argument("--peers", type=Path, help="a Python with jax, numba and scipy, for NPBench's own versions")
    options = parse_options(parser, arguments, in_parallel=True)
    files = sorted((options.folder / "bench_info").glob("*.json"))
    infos = {info["short_name"]: info for info in (json.loads(path.read_text())["benchmark"] for path in files)}
    infos = {name: info for name, info in infos.items() if not options.names or name in options.names}
    if not infos:
        parser.error(f"no benchmark of that name in {options.folder / 'bench_info'}")
    document = Document(options.json, {"timed": options.time, "preset": PRESET, "draws": DRAWS})
    with tempfile.TemporaryDirectory() as folder:
        result_of = partial(_examine, infos=infos, options=options, work=Path(folder))
        document.add_all(infos, result_of, 1 if options.time else options.processes)
    results = {name: document.results[name] for name in infos}
    print(outcomes_table(results))
    print(obstacles_table(results))
    if options.time:
        print(times_tables(results))
    return exit_code(results)


def _examine(name: str, infos: Mapping[str, Any], options: argparse.Namespace, work: Path) -> dict[str, Any]:
    info, folder = infos[name], work / name
    folder.mkdir(parents=True)
    try:
        program = prepare(info, options.folder / "npbench" / "benchmarks" / info["relative_path"])
        path = write_op(program, folder)
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        return {"failed": describe_error(error), "forms": {}}
    result = examine(path, *(["--time"] if options.time else []), before=ON_ONE_CORE if options.time else ())
    if options.time and options.peers:
        result["by_hand"] = {peer: _seconds_by_hand(peer, folder, options.peers) for peer in PEERS}
    return {**result, "sizes": program.parameters}


def _seconds_by_hand(peer: str, folder: Path, python: Path) -> float | str:
    """Return the seconds of a call of NPBench's own version, or why there are none."""
    command = [*ON_ONE_CORE, str(python), str(PEER_TIMES), str(folder), peer]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMING_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"took longer than {TIMING_SECONDS:g} s"
    return (done.stderr.strip().splitlines() or ["it ended"])[-1][:200] if done.returncode else float(done.stdout)


def prepare(info: Mapping[str, Any], folder: Path) -> Program:
    """Return a benchmark with its arguments, of sizes at which NumPy takes a moment."""
    name = f"{info['module_name']}_numpy"
    module = load_file(folder / f"{name}.py", f"npbench_{name}")
    program = Program(info, folder, getattr(module, info["func_name"]), dict(info["parameters"][PRESET]))
    while True:
        program.draws = [_draw(program, 0)]
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
        range=_range_for_seeds(program.name, size),
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


def _range_for_seeds(name: str, size: int) -> int:
    """Return a range such that integers drawn from it with each of the first seeds have different remainders.

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


def times_tables(results: Mapping[str, Any]) -> str:
    """Return how fast ports are compared with versions by hand, and milliseconds for each benchmark, as Markdown."""
    timed = {name: _seconds_of(one) for name, one in results.items() if "seconds" in one}
    others = (*(f"{peer} by hand" for peer in PEERS), "the better of them", "numpy")
    means = [(form, *(_mean_ratio(timed.values(), form, other) for other in others)) for form in (*FORMS, FASTEST)]
    names = ("numpy", *FORMS, *others[:2])
    rows = [
        (name, *(f"{seconds[one] * 1e3:.3g}" if one in seconds else "" for one in names))
        for name, seconds in timed.items()
    ]
    left_out = [
        (name, peer, seconds)
        for name, one in results.items()
        for peer, seconds in one.get("by_hand", {}).items()
        if isinstance(seconds, str)
    ]
    return "\n".join(
        [
            table(("port", *(f"times as fast as {other}: geometric mean, benchmarks" for other in others)), means),
            table(("milliseconds of a call", *names), rows),
            table(("benchmark", "by hand", "left out because"), left_out),
        ]
    )


def _seconds_of(result: Mapping[str, Any]) -> dict[str, float]:
    (seconds,) = result["seconds"].values()
    by_hand = {f"{peer} by hand": one for peer, one in result.get("by_hand", {}).items() if isinstance(one, float)}
    ports = [seconds[form] for form in FORMS if form in seconds]
    best = {"the better of them": min(by_hand.values())} if by_hand else {}
    return {**seconds, **by_hand, **best, **({FASTEST: min(ports)} if ports else {})}


def _mean_ratio(timed: Iterable[Mapping[str, float]], form: str, other: str) -> str:
    ratios = [one[other] / one[form] for one in timed if other in one and form in one]
    return f"{statistics.geometric_mean(ratios):.2f}, {len(ratios)}" if ratios else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
