"""One of every kind of file that somebody else may have made, and the commands that read it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import certificates
import copied_files
import placement_files
import probe_files
import stored
from places import ROOT
from pyopbench.results import certificate, copy_costs, counted_copies, probes, store, versions
from pyopbench.run import kept_probes

Commands = dict[str, list[list[str]]]
"""Name of a file -> command lines that read it."""

FOREIGN = [ROOT / "tests/data/foreign" / name for name in ("asv-first.json", "pytest-benchmark-first.json")]
OUT = "out"
VICTIM = "victim"
KNOWN = {**stored.ENVIRONMENT, "commit": None, "dirty": None}
TODAY, NATIVE = "py_function_numpy", "native"


def make(folder: Path) -> Commands:
    """Write one of every kind of file, and return the command lines that read it, by the name of the file."""
    cases = [stored.case(variant, size=size) for variant in ("well", NATIVE) for size in (1, 10)]
    content = stored.run(cases, certificate=certificates.as_stored(certificates.certificate()))
    content["catalogue"]["variants"][NATIVE] = {**stored.VARIANT, "kind": "port"}
    lines = [stored.launch_line(0), stored.limits_line(0), *_launches("well")]
    run = stored.write(folder / "run", content, lines)
    probes.write(run / probes.FILE, probe_files.document(probe_files.row("xla", NATIVE, "fails", "no")))
    counted_copies.write(run / counted_copies.FILE, placement_files.document())
    made = copied_files.document(copied_files.row(1, 1e-4), copied_files.row(1_000, 2e-4))
    copy_costs.write(run / copy_costs.FILE, {**made, **copied_files.gpu_document(copied_files.GPU)})
    shutil.copytree(run, folder / "several" / "tf-2.21.0")
    versions.write(folder / "several", versions.named(folder / "several", ["2.21.0"]))
    for path in FOREIGN:
        shutil.copy(path, folder)
    (folder / VICTIM).write_text("keep me", encoding="utf-8")
    of_run = [
        ["report", "run", "--out", OUT],
        ["compare", "run", "run"],
        ["compare", "run", "run", "--markdown", f"{OUT}/told.md"],
        ["check", "run"],
        ["check", "--json", "run"],
    ]
    allowed = [["report", "run", "--allow-changed", "--json", "--out", OUT]]
    found = {f"run/{name}": [*of_run, *allowed] for name in (store.RUN_FILE, store.SAMPLES_FILE)}
    found |= {f"run/{name}": of_run for name in (counted_copies.FILE, copy_costs.FILE)}
    found[f"run/{probes.FILE}"] = [
        *of_run,
        ["probe", f"run/{probes.FILE}"],
        ["probe", "--json", f"run/{probes.FILE}"],
        ["probe", f"run/{probes.FILE}", f"run/{probes.FILE}"],
    ]
    found[f"several/{versions.FILE}"] = [["compare", "several", "several"], ["check", "several"], ["resume", "several"]]
    found |= {
        path.name: [["compare", path.name, path.name], ["report", path.name, "--out", OUT], ["check", path.name]]
        for path in FOREIGN
    }
    return {**found, **_make_for_runs(folder), **_make_for_programs(folder)}


def _kept() -> Path:
    path = kept_probes.path_for(KNOWN)
    assert path is not None
    return path


def _launches(today: str) -> list[dict[str, Any]]:
    lines = []
    for launch in range(3):
        for size in (1, 10):
            both = [stored.case(variant, size=size) for variant in (today, NATIVE)]
            failed = [stored.failure(stored.case("broken", size=size))]
            lines.append(stored.group_line(launch, both, failed, 0.5 + 0.01 * launch))
    return lines


def _make_for_runs(folder: Path) -> Commands:
    """Write what `run` and `resume` read: runs of variants that there are, mixes, and the user's own folder."""
    settings = {**stored.SETTINGS, "baseline": TODAY}
    content = stored.run([stored.case(variant, size=size) for variant in (TODAY, NATIVE) for size in (1, 10)])
    content = {**content, "settings": settings, "environment": KNOWN}
    stored.write(folder / "begun", content, [stored.launch_line(0), *_launches(TODAY)])
    fresh = [stored.launch_line(0), stored.limits_line(0)]  # without samples it ends before a report, which takes long
    stored.write(folder / "fresh", content, fresh)
    stored.write(folder / "wanting", {**content, "settings": {**settings, "tf": "2.21.0"}}, [stored.launch_line(0)])
    (folder / "mix.csv").write_text("size,weight\n1,3\n10,1\n", encoding="utf-8")
    (folder / "shapes.csv").write_text("shape,dtype,weight\n1x1,float32,3\n2x5,float32,1\n", encoding="utf-8")
    data = folder / "data" / "pyopbench"
    for path in (certificate.path_for(KNOWN), _kept()):
        (data / path.parent.name).mkdir(parents=True)
    own = data / "certificates" / certificate.path_for(KNOWN).name
    own.write_text(certificates.certificate(environment=KNOWN).as_json(), encoding="utf-8")
    known = data / "probes" / _kept().name
    probes.write(known, probe_files.document(probe_files.row("xla", TODAY, "fails", "no")))
    resumed = [["resume", "begun"], ["resume", "begun", "--allow-changed"], ["check", "begun"]]
    mixed = [["resume", "wanting", "--mix"], ["report", "run", "--out", OUT, "--mix"]]
    begun = ["run", "double", "--out", f"{OUT}/new"]
    return {
        f"begun/{store.RUN_FILE}": resumed,
        f"begun/{store.SAMPLES_FILE}": resumed,
        f"fresh/{store.RUN_FILE}": [["resume", "fresh"], ["resume", "fresh", "--allow-changed"]],
        f"fresh/{store.SAMPLES_FILE}": [["resume", "fresh"], ["resume", "fresh", "--allow-changed"]],
        f"wanting/{store.RUN_FILE}": [["resume", "wanting"]],
        "mix.csv": [[*words, "mix.csv"] for words in mixed],
        "shapes.csv": [[*words, "shapes.csv"] for words in mixed],
        own.relative_to(folder).as_posix(): [[*begun, "--no-probes"]],
        known.relative_to(folder).as_posix(): [begun, ["resume", "fresh", "--require", "xla"]],
    }


def _make_for_programs(folder: Path) -> Commands:
    """Write what a recorded program leaves, and what `scan` parses."""
    counted = {"calls": 3, "raised": 0, "seconds": 0.5, "outside_calls": 3, "outside_seconds": 0.75}
    names = {"file": "a.py", "line": 3, "function": "f", "kind": "py_function", "mode": "graph", "body": "g"}
    shapes = [{"inputs": [{"shape": [2, 5], "dtype": "float32"}], "calls": 3, "seconds": 0.5}]
    part = {"trouble": "", "sites": [{**names, "forward": counted, "gradient": counted, "shapes": shapes}]}
    (folder / "part.json").write_text(json.dumps(part), encoding="utf-8")
    source = "import tensorflow as tf\ndef f(x):\n    return x[1]\ny = tf.numpy_function(f, [1], tf.float32)\n"
    (folder / "source.py").write_text(source, encoding="utf-8")
    leaving = ["sh", "-c", 'cp -a part.json "$PYOPBENCH_RECORD/1.json" 2> /dev/null']
    return {
        "part.json": [["record", "--out", f"{OUT}/r.json", "--", *leaving]],
        "source.py": [
            ["scan", "source.py"],
            ["scan", "--json", "source.py"],
            ["scan", "--draft", "source.py:4", "--out", f"{OUT}/my_op.py"],
        ],
    }
