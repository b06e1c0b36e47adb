"""Run `pyopbench run` with functions of well-known libraries as a newcomer would, and make the page of what happens.

    pip install scikit-image scikit-learn librosa albumentations nltk jiwer sacrebleu
    python benchmarks/first_try.py --json first_try.json --page docs/first-try.md
    python benchmarks/first_try.py cdist zscore                    # some; the page to stdout

With `--json FILE` what is done is kept there, and not done again. Exit codes: 0 done, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILES = Path(__file__).with_name("libraries")
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

TRIED = ("traced", "traced_xla", "keras_ops", "njit", "tnp", "tnp_autograph", "tnp_xla")
HEAD = """# Functions of libraries on first try

Functions of SciPy, scikit-image, scikit-learn, librosa, albumentations, nltk, jiwer and sacrebleu, named as a newcomer
would name them, with an example of each argument and nothing else:

```sh
pyopbench run scipy.stats:zscore --quick --input "rng.random((256, 8))"
```

This page is made by

```sh
python benchmarks/first_try.py --page docs/first-try.md
```

which has the other commands; the files that they name are in `benchmarks/libraries/`. A form is right if its values,
and its gradient where there is one, are those of the function. Text, OpenCV and what is compiled already have no port
to TensorFlow: then the callbacks are compared, which is an answer as well. A random function is refused with what to
do; here that is `--seed-with "transform.set_random_seed({seed})"`.
"""
TIMES = """A time is a share of that of the current callback: `faster` where the run was certain of it, `perhaps` where
it came out less and is not certain.
"""
HEAD += TIMES


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", choices=[*FUNCTIONS, []], help="functions; all if none is named"
    )
    parser.add_argument("--json", type=Path, help="keep what came of each here")
    parser.add_argument("--page", type=Path, help="write the page here and not to stdout")
    parser.add_argument("--without-times", action="store_true", help="of a busy machine, whose times are noise")
    parser.add_argument("--budget", default="60s", help="of each run (60s)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in FUNCTIONS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(FUNCTIONS)}")
    done = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name in options.names or FUNCTIONS:
        if name not in done:
            done[name] = tried(name, options.budget)
            print(f"{name}: {done[name]['answer']}", file=sys.stderr)
            if options.json:
                options.json.write_text(json.dumps(done, indent=1) + "\n")
    text = page({name: done[name] for name in FUNCTIONS if name in done}, timed=not options.without_times)
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


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
            "answer": "refused: " + " ".join(" ".join(said).split()),
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
        for variant in TRIED
        if variant in failed and variant not in right
    }
    answer = f"{decision['action']} {decision['choice'] or ''}".strip()
    return {"answer": answer, "right": right, "not_right": not_right}


def page(done: Mapping[str, Mapping[str, Any]], *, timed: bool) -> str:
    """Return the page as Markdown."""
    head = ("function", "answer", "right, and its time over today's", "why the others are not")
    rows = [_row(name, found, timed=timed) for name, found in done.items()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    if not timed:
        table = table.replace("right, and its time over today's", "right").replace("| answer ", "| exit code ")
    head_text = HEAD if timed else HEAD.replace(TIMES, "").replace("first_try.py ", "first_try.py --without-times ")
    return f"{head_text.strip()}\n\n{_counted(done, timed=timed)}\n\n{table}\n"


def _counted(done: Mapping[str, Mapping[str, Any]], *, timed: bool) -> str:
    forms = [{name: one for name, one in found["right"].items() if name in TRIED} for found in done.values()]
    told = f"Of {len(done)}, {sum(map(bool, forms))} have a verified form that nobody wrote"
    if not timed:
        return f"{told}. Times are left out here: the command was run on a busy machine."
    faster = sum(any(one["outcome"] == "faster" for one in several.values()) for several in forms)
    perhaps = sum(any(one["ratio"] < 1 for one in several.values()) for several in forms)
    return f"{told}; of {faster} one is faster for certain, of {perhaps} one came out faster."


def _row(name: str, found: Mapping[str, Any], *, timed: bool) -> list[str]:
    command = f"`{shlex.join(words_of(name))}`"
    right = [f"`{variant}`{_time(one) if timed else ''}" for variant, one in sorted(found["right"].items())]
    by_reason: dict[str, list[str]] = {}
    for variant, one in found["not_right"].items():
        change = one["change"]
        known = f" Line {change['line']}: replace `{change['now']}` by `{change['then']}`." if change else ""
        by_reason.setdefault(f"{one['reason']}{known}", []).append(f"`{variant}`")
    why = [f"{', '.join(variants)}: {_cell(reason)}" for reason, variants in by_reason.items()]
    answer = found["answer"] if timed else f"{found['exit']}" + (f": {found['answer']}" if found["exit"] else "")
    return [_cell(command), _cell(answer), "<br>".join(right) or "none", "<br>".join(why)]


def _time(one: Mapping[str, Any]) -> str:
    mark = {"faster": ", faster"}.get(one["outcome"], ", perhaps" if one["ratio"] < 1 else "")
    return f" {one['ratio']:.2f}{mark}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
