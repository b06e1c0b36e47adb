"""Run `pyopbench run` with functions of well-known libraries as a newcomer would, and keep what happens with each.

    pip install scikit-image scikit-learn librosa albumentations nltk jiwer sacrebleu
    python benchmarks/first_try.py                  # all: results/first_try.json, ten minutes on an idle machine
    python benchmarks/first_try.py --resume         # goes on with it
    python scripts/quote_reference.py               # makes the table of docs/first-try.md from it
    python benchmarks/first_try.py cdist zscore     # some; the table to stdout

Exit codes: 0 done, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import first_try_tables as tables
import stored_document
from pyopbench.model.errors import BadInput

FILES = Path(__file__).with_name("libraries")
STORED = Path(__file__).resolve().parents[1] / "results" / "first_try.json"
"""What is kept of all functions, and quoted in docs/first-try.md."""

PACKAGES = (
    "tensorflow-cpu",
    "numpy",
    "numba",
    "scipy",
    "scikit-image",
    "scikit-learn",
    "librosa",
    "albumentations",
    "nltk",
    "jiwer",
    "sacrebleu",
)
VERSION = 1
IMAGE = "rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)"
HSV = "albumentations.augmentations.pixel.functional:shift_hsv"
BOXES = "np.sort(rng.random((40, 2, 2)), axis=1).reshape(40, 4)"
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "cdist": ("scipy.spatial.distance:cdist", "rng.random((64, 3))", "rng.random((48, 3))"),
    "zscore": ("scipy.stats:zscore", "rng.random((256, 8))"),
    "softmax": ("scipy.special:softmax", "rng.random((64, 100))"),
    "rgb2gray": ("skimage.color:rgb2gray", "rng.random((64, 64, 3))"),
    "peak_local_max": ("skimage.feature:peak_local_max", "rng.random((64, 64))"),
    "roc_auc_score": ("sklearn.metrics:roc_auc_score", "rng.integers(0, 2, 200)", "rng.random(200)"),
    "haversine_distances": ("sklearn.metrics.pairwise:haversine_distances", "rng.random((50, 2))"),
    "power_to_db": ("librosa:power_to_db", "rng.random((128, 40))"),
    "hz_to_midi": ("librosa:hz_to_midi", "rng.uniform(50, 5000, 1000)"),
    "mfcc": ("librosa.feature:mfcc", "y=rng.standard_normal(8000)"),
    "shift_hsv": (HSV, IMAGE, "np.float32(10)", "np.float32(20)", "np.float32(-10)"),
    "compose": ("augment.py:augment", IMAGE),
    "edit_distance": ("nltk:edit_distance", "'kitten on the mat'", "'sitting on the hat'"),
    "wer": ("jiwer:wer", "'the cat sat on the mat'", "'the cat sits on a mat'"),
    "corpus_bleu": ("bleu.py:bleu", "['the cat sat', 'a dog ran home']", "['the cat sat', 'the dog ran home']"),
    "nms": ("detection.py:nms", BOXES, "rng.random(40)"),
}
"""By the name of the row: the function, and the examples of its arguments."""


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    options = _read(arguments)
    document = {**stored_document.begin(VERSION, PACKAGES, {"budget": options.budget}), "functions": []}
    try:
        if options.resume:
            document = stored_document.read_to_go_on(options.json, document)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    done = {one["name"]: one for one in document["functions"]}
    for name in options.names or FUNCTIONS:
        if name not in done:
            done[name] = {"name": name, "words": words_of(name), **tried(name, options.budget)}
            print(f"{name}: {done[name]['answer']}", file=sys.stderr)
            document["functions"] = [done[each] for each in FUNCTIONS if each in done]
            if options.json:
                stored_document.write(options.json, document)
    if options.names:
        print(f"{tables.counted(document)}\n{tables.functions(document)}")
    return 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions; all if none is named")
    parser.add_argument("--json", type=Path, help="keep what came of each here; results/first_try.json for all")
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    parser.add_argument("--budget", default="60s", help="of each run (60s)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in FUNCTIONS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(FUNCTIONS)}")
    if not options.names and not options.json:
        options.json = STORED
    if options.resume and not options.json:
        parser.error("--resume goes on with a file: name one with --json, or no function")
    return options


def tried(name: str, budget: str) -> dict[str, Any]:
    """Return what comes of one function: exit code, answer, and what became of each form."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", *words_of(name), "--quick", "--mode", "call", "--budget", budget, "--out", f"{folder}/run"]
        command = [sys.executable, "-m", "pyopbench", *words]
        ended = subprocess.run(command, cwd=FILES, capture_output=True, text=True, check=False)
        path = Path(folder) / "run" / "decisions.json"
        found = json.loads(path.read_text()) if path.exists() else None
    if found is None:
        said = [line.strip() for line in ended.stderr.splitlines() if line.strip().startswith(("error:", "next:"))]
        return {
            "exit": ended.returncode,
            "answer": "refused: " + " ".join(" ".join(said).split()).replace(f"{FILES}{os.sep}", ""),
            "right": {},
            "not_right": {},
        }
    return {"exit": ended.returncode, **outcome(found)}


def words_of(name: str) -> list[str]:
    """Return the function and its inputs as a command line has them."""
    function, *inputs = FUNCTIONS[name]
    return [function, *(word for one in inputs for word in ("--input", one))]


def outcome(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a run, how much faster each right form was, and why the others are not right."""
    (decision, *_) = found["decisions"] or [{"action": "undecided", "choice": None}]
    right = {}
    for verdict in found["verdicts"]:
        variant = verdict["case"].split("/")[1]
        right[variant] = {"ratio": verdict["ratio"], "outcome": verdict["outcome"]}
    forward = [one for one in found["failures"] if one["case"].split("/")[3] == "forward"]
    failed = {one["case"].split("/")[1]: one for one in forward}
    not_right = {
        variant: {"reason": failed[variant]["reason"], "change": failed[variant]["change"]}
        for variant in tables.TRIED
        if variant in failed and variant not in right
    }
    answer = f"{decision['action']} {decision['choice'] or ''}".strip()
    return {"answer": answer, "right": right, "not_right": not_right}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
