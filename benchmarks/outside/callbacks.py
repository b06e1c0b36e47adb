"""Try ports of callbacks that were found in public code, and print what became of them.

    python benchmarks/outside/callbacks.py FOLDER --json callbacks.json
    python benchmarks/outside/callbacks.py FOLDER 03 relabel              # some, by number or name

FOLDER has an op file for each callback, `NN_name.py`, that ends with `OP = OwnOp(...)`: the function of the callback as
it stands, and inputs that fit it. A table `sources.tsv` there, with the columns NN, name, source, query, callback and
what, says where each is from; no code of it is kept in the result. Exit codes: 0 done, 1 a port is silently wrong or a
callback could not be examined, 2 bad usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tally


def main(arguments: Sequence[str]) -> int:
    """Examine callbacks; return the exit code."""
    parser = tally.new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="of op files")
    parser.add_argument("names", nargs="*", metavar="NAME", help="numbers or names of callbacks; all if none is named")
    options = tally.parse_options(parser, arguments, in_parallel=True)
    wanted = set(options.names)
    files = {path.stem: path for path in sorted(options.folder.glob("[0-9]*_*.py"))}
    files = {name: path for name, path in files.items() if not wanted or {name, *name.split("_", 1)} & wanted}
    if not files:
        parser.error(f"no op file NN_name.py of that name in {options.folder}")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(options.folder.resolve()), os.environ.get("PYTHONPATH", "")])
    document = tally.Document(options.json, {})
    document.add_all(files, lambda name: tally.examine(files[name]), options.processes)
    results = {name: document.results[name] for name in files}
    origins = {
        f"{row['NN']}_{row['name']}": f"{row['what']} ({row['source']})" for row in tally.read_sources(options.folder)
    }
    print(shares_table(results))
    print(tally.outcomes_table(results))
    print(tally.table(("callback", "what it does"), [(name, origins.get(name, "")) for name in results]))
    print(tally.obstacles_table(results))
    return tally.exit_code(results)


def shares_table(results: Mapping[str, Any]) -> str:
    """Return how many callbacks have what, with Wilson's intervals, as Markdown."""
    found = list(results.values())
    unknown = [one for one in found if any(form.get("unknown_sizes") for form in one.get("forms", {}).values())]
    counted = {
        "a right form without Python": sum(map(tally.has_right, found)),
        "one that takes unknown sizes": len(unknown),
        "`traced`": sum(tally.has_right(one, "traced") for one in found),
        "`numba_op`": sum(tally.has_right(one, "numba_op") for one in found),
    }
    rows = [(what, tally.share(count, len(found))) for what, count in counted.items()]
    return tally.table(("of the callbacks", "number, share, 95% interval"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
