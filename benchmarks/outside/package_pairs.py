"""Compare released versions of packages whose notes say that a function became faster or slower.

python benchmarks/outside/package_pairs.py FOLDER [--only NAME...] [--portion 20m]    writes package_pairs.json

For each pair, an op file with one call of that function is measured by `pyopbench run op.py --with A --with B`, and the
first version against itself. The direction should be that of the notes, and the same version twice should not be found
different. The notes are named in `PAIRS`; the bodies are ours. An environment of TensorFlow is installed for each
version, from your package index, on first use.

`FOLDER` keeps all runs. The same command continues: stored results are not measured again. Nothing else may run on the
machine meanwhile.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
from gate_trials import ENDED, TOLD_APART, exit_code_of

import stored_document
from markdown_table import table
from outside import tallies
from pyopbench.model.parse import parse_duration
from pyopbench.report.gate import DOCUMENT

VERSION = 1
STORED = tallies.RESULTS / "package_pairs.json"
OPTIONS = ("--quick", "--variant", "numpy_function")
OP = """import numpy as np

from pyopbench import OwnOp
{preamble}

def inputs(size, rng):
    return ({values},)


def body(x):
    {body}


OP = OwnOp(inputs=inputs, numpy=body, differentiable=(), sizes=({size},))
"""
NUMPY = "https://numpy.org/doc/stable/release/{}-notes.html"
NLTK = "https://www.nltk.org/news.html"


@dataclass(frozen=True)
class Pair:
    """Two versions of a package, and what the notes say about the second.

    Attributes:
        name: of the function, in words.
        package, before, after: the package and the versions to install.
        direction: that of the notes.
        notes: their address.
        body: the code that is called; `x` is the input.
        values: of the input; expression over `size` and `rng`.
        size: of the input.
        preamble: code that imports or builds something once.
    """

    name: str
    package: str
    before: str
    after: str
    direction: Literal["faster", "slower"]
    notes: str
    body: str
    values: str
    size: int
    preamble: str = ""

    @property
    def versions(self) -> tuple[str, str]:
        """Both as `--with` takes them."""
        return f"{self.package}=={self.before}", f"{self.package}=={self.after}"

    def op(self) -> str:
        """Return the text of the op file."""
        return OP.format(preamble=self.preamble, values=self.values, body=self.body, size=self.size)


PAIRS: tuple[Pair, ...] = (
    Pair(
        *("unique_integers", "numpy", "2.2.6", "2.3.5", "faster", NUMPY.format("2.3.0")),
        body="return np.int64(np.unique(x).size)",
        values="rng.integers(0, 100, size).astype(np.uint8)",
        size=200_000,
    ),
    Pair(
        *("unique_bytes", "numpy", "2.3.5", "2.4.6", "faster", NUMPY.format("2.4.0")),
        body='return np.int64(np.unique(x.astype("S8")).size)',
        values="rng.integers(0, 100, size)",
        size=50_000,
    ),
    Pair(
        *("unique_complex", "numpy", "2.3.5", "2.4.6", "faster", NUMPY.format("2.4.0")),
        body="return np.int64(np.unique(x + 1j * x).size)",
        values="rng.integers(0, 100, size).astype(np.float64)",
        size=100_000,
    ),
    Pair(
        *("ndindex", "numpy", "2.3.5", "2.4.6", "faster", NUMPY.format("2.4.0")),
        body="return np.float32(sum(x[place] for place in np.ndindex(x.shape)))",
        values="rng.standard_normal((size, size, size)).astype(np.float32)",
        size=12,
    ),
    Pair(
        *("scalar_functions", "numpy", "2.3.5", "2.4.6", "faster", NUMPY.format("2.4.0")),
        body="return np.array([np.sin(one) for one in x.tolist()])",
        values="rng.standard_normal(size)",
        size=1_000,
    ),
    Pair(
        *("char_functions", "numpy", "1.26.4", "2.0.2", "faster", NUMPY.format("2.0.0")),
        body='return np.char.count(WORDS, "a") + x',
        values="np.zeros(1, np.int64)",
        size=1,
        preamble='\nWORDS = np.array(["banana", "cherry", "apple", "grape"] * 2_000)\n',
    ),
    Pair(
        *("partition", "numpy", "1.26.4", "2.0.2", "faster", NUMPY.format("2.0.0")),
        body="return np.partition(x, x.size // 2)[x.size // 2]",
        values="rng.standard_normal(size).astype(np.float32)",
        size=100_000,
    ),
    Pair(
        *("argpartition", "numpy", "1.26.4", "2.0.2", "faster", NUMPY.format("2.0.0")),
        body="return x[np.argpartition(x, x.size // 2)[x.size // 2]]",
        values="rng.standard_normal(size).astype(np.float32)",
        size=100_000,
    ),
    Pair(
        *("syllables_of_numbers", "nltk", "3.7", "3.8.1", "faster", NLTK),
        body='return np.int32(sum(len("".join(TOKENIZER.tokenize(str(one)))) for one in x.tolist()))',
        values="rng.integers(10**17, 10**18, size)",
        size=20,
        preamble="import warnings\n\nfrom nltk.tokenize import SyllableTokenizer\n\n"
        'warnings.simplefilter("ignore")\nTOKENIZER = SyllableTokenizer()\n',
    ),
    Pair(
        *("sum_of_frequencies", "nltk", "3.7", "3.8.1", "faster", NLTK),
        body="return x + np.int64((FIRST + SECOND).N())",
        values="np.zeros(1, np.int64)",
        size=1,
        preamble="from nltk.probability import ConditionalFreqDist\n\n"
        "FIRST, SECOND = (ConditionalFreqDist((k + i % 1_000, i % 2) for i in range(2_000)) for k in (0, 1_000))\n",
    ),
)


def measured(pair: Pair, folder: Path, budget: str, *, is_same: bool) -> dict[str, Any] | None:
    """Measure a pair, or its first version twice, unless it is there; return its row, None if the run failed."""
    file = folder / f"{pair.name}.py"
    if not file.exists():
        file.write_text(pair.op(), encoding="utf-8")
    place = folder / f"{pair.name}-{'same' if is_same else 'pair'}"
    before, after = pair.versions
    start = monotonic()
    if not (place / DOCUMENT).exists():
        if place.exists():
            shutil.rmtree(place)
        asked = ("--with", before, "--with", before if is_same else after)
        command = ("-m", "pyopbench", "run", str(file), *asked, *OPTIONS, "--budget", budget, "--out", str(place))
        if exit_code_of((sys.executable, *command), folder) not in ENDED:
            return None
    return row_of(
        pair, json.loads((place / DOCUMENT).read_text(encoding="utf-8")), monotonic() - start, is_same=is_same
    )


def row_of(pair: Pair, answer: Mapping[str, Any], seconds: float, *, is_same: bool) -> dict[str, Any]:
    """Return the verdict of a run as plain data: that on the body, or else on its only case."""
    (found,) = answer["comparisons"].values() or ({"bodies": (), "cases": ()},)
    verdicts = [*found["bodies"], *found["cases"]]
    first: Mapping[str, Any] = verdicts[0] if verdicts else {}
    return {
        "name": pair.name,
        "versions": [pair.versions[0]] * 2 if is_same else list(pair.versions),
        "expected": "same" if is_same else pair.direction,
        "outcome": first.get("outcome", "not measured"),
        "apart": sum(one["outcome"] in TOLD_APART for one in verdicts),
        **{key: first.get(key) for key in ("ratio", "low", "high")},
        "smallest_found": answer["smallest_found"],
        "values_differ": any(one["values"]["differences"] for one in answer["others"]),
        "seconds": seconds,
    }


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each run, as Markdown."""
    notes = {pair.name: pair.notes for pair in PAIRS}
    rows = [
        (
            row["name"],
            " to ".join(row["versions"]),
            "the same" if row["expected"] == "same" else f"[{row['expected']}]({notes[row['name']]})",
            row["outcome"],
            "" if row["ratio"] is None else f"{row['ratio']:.3g} ({row['low']:.3g}-{row['high']:.3g})",
        )
        for row in document["rows"]
    ]
    return table(("function", "versions", "by the notes", "verdict", "ratio, interval"), rows)


def summary_text(document: Mapping[str, Any]) -> str:
    """Return how many directions are right and how many identical pairs are found different."""
    pairs = [row for row in document["rows"] if row["expected"] != "same"]
    same = [row for row in document["rows"] if row["expected"] == "same"]
    right = sum(row["outcome"] == row["expected"] for row in pairs)
    wrong = sum(row["outcome"] in TOLD_APART and row["outcome"] != row["expected"] for row in pairs)
    return (
        f"{right} of {len(pairs)} pairs have the direction of the notes, {wrong} the opposite one; "
        f"{sum(row['apart'] > 0 for row in same)} of {len(same)} identical pairs are found different.\n"
    )


def left_in(pairs: Sequence[Pair], rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Pair, bool]]:
    """Yield the runs without a row: each pair, and then each first version against itself."""
    kept = {(row["name"], row["expected"] == "same") for row in rows}
    for is_same in (False, True):
        for pair in pairs:
            if (pair.name, is_same) not in kept:
                yield pair, is_same


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is left within the portion, keep a row for each run, and print the table."""
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=[pair.name for pair in PAIRS], default=None)
    parser.add_argument("--budget", default="60s", help="of each run (60s)")
    parser.add_argument("--portion", type=parse_duration, default=None)
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    begun = stored_document.begin(VERSION, ("tensorflow", "tensorflow-cpu"), {"budget": options.budget})
    document = {**begun, "rows": []}
    if options.json.exists():
        document = stored_document.read_to_go_on(options.json, begun)
    pairs = [pair for pair in PAIRS if options.only is None or pair.name in options.only]
    start = monotonic()
    for pair, is_same in left_in(pairs, document["rows"]):
        if options.portion is not None and monotonic() - start > options.portion:
            break
        row = measured(pair, folder, options.budget, is_same=is_same)
        if row is None:
            sys.stderr.write(f"{pair.name} was not measured; its row is missing\n")
            continue
        document["rows"].append(row)
        stored_document.write(options.json, document)
    sys.stdout.write(f"{results_table(document)}\n{summary_text(document)}")


if __name__ == "__main__":
    main()
