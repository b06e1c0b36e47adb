"""The census of callbacks: what it finds in planted programs, and which scans it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from places import ROOT
from pyopbench.find.scan import scan

PLANTED = {
    "none": "def body(x):\n    return np.abs(x).sum() + int(help(x))\n\ndef help(x):\n    return x.astype(float)",
    "missing": "def body(x):\n    return np.frombuffer(x)",
    "draws": "def body(x):\n    return x + np.random.normal()",
    "library": "import cv2\n\ndef body(x):\n    return cv2.resize(x, (2, 2))",
    "outside": "def body(x):\n    return np.load(x)",
    "state": "seen = 0\n\ndef body(x):\n    global seen\n    seen += 1\n    return x",
    "tensorflow": "def body(x):\n    return tf.reduce_sum(x)",
    "unknown": "from own import parse\n\ndef body(x):\n    return parse(x) + 1",
    "absent": "from own import parse as body",
}
"""Bodies by the first obstacle that they have."""

CALL = "\n\ny = tf.numpy_function(body, [x], tf.float32)\n"
HEAD = "import numpy as np\nimport tensorflow as tf\n"


@pytest.fixture
def script() -> Iterator[ModuleType]:
    """The script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        patch.delitem(sys.modules, "callback_census", raising=False)
        import callback_census

        yield callback_census


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two repositories: one with a file for each planted body, and one with copies of two of them."""
    for repository, names in (("one+planted", PLANTED), ("two+copies", ("none", "draws"))):
        (tmp_path / repository).mkdir()
        for name in names:
            (tmp_path / repository / f"{name}_body.py").write_text(HEAD + PLANTED[name] + CALL, encoding="utf-8")
    (tmp_path / "one+planted" / "own.py").write_text("def parse(x):\n    return x\n", encoding="utf-8")
    (tmp_path / "commits").write_text("one+planted 0123\ntwo+copies 4567\n", encoding="utf-8")
    return tmp_path


def scanned(folder: Path) -> dict[str, Any]:
    found = scan([folder])
    return {
        "sites": [asdict(site) for site in found.sites],
        "files": found.files,
        "lines": found.lines,
        "broken": [],
        "skipped": found.skipped,
    }


def test_each_planted_obstacle_is_found(script: ModuleType, folder: Path) -> None:
    sites = [site for site in scanned(folder)["sites"] if "planted" in site["file"]]
    found = {Path(site["file"]).stem: body.obstacle for site, body in script.examine_sites(folder, sites)}
    assert found == {f"{name}_body": name for name in PLANTED}


def test_copies_count_as_callbacks_and_not_as_bodies(script: ModuleType, folder: Path) -> None:
    counts = script.count(folder, scanned(folder), script.read_commits(folder))
    assert counts["callbacks"] == counts["files"] == counts["kind"]["numpy_function"] == len(PLANTED) + 2
    assert counts["distinct files"] == len(PLANTED)
    assert counts["obstacle"]["callbacks"]["none"] == counts["obstacle"]["callbacks"]["draws"] == 2
    assert counts["obstacle"]["distinct"] == {name: int(name != "absent") for name in script.OBSTACLES}
    assert counts["risk"]["draws"] == 2
    assert counts["library"] == {"cv2": 1}
    assert counts["missing"] == {"np.frombuffer": 1}
    assert [one["name"] for one in counts["repositories"]] == ["one/planted", "two/copies"]


def test_a_callback_that_another_file_makes_one_has_its_body(script: ModuleType, folder: Path) -> None:
    (folder / "one+planted" / "compat.py").write_text("from tensorflow.compat.v1 import *\n", encoding="utf-8")
    calling = "from compat import py_func\n\ndef body(x):\n    print(x)\n\ny = py_func(body, [x], [])\n"
    (folder / "one+planted" / "calling.py").write_text(calling, encoding="utf-8")
    sites = [site for site in scanned(folder)["sites"] if site["file"].endswith("calling.py")]
    assert [body.obstacle for _, body in script.examine_sites(folder, sites)] == ["outside"]


def test_a_body_of_another_module_of_the_program_is_absent_behind_a_partial(script: ModuleType, folder: Path) -> None:
    calling = "import functools\nfrom own import parse\nbound = functools.partial(parse, k=1)\n"
    (folder / "one+planted" / "bound.py").write_text(HEAD + calling + CALL.replace("body", "bound"), encoding="utf-8")
    sites = [site for site in scanned(folder)["sites"] if site["file"].endswith("bound.py")]
    assert [body.obstacle for _, body in script.examine_sites(folder, sites)] == ["absent"]


def test_state_in_a_list_of_an_object_is_seen(script: ModuleType, folder: Path) -> None:
    method = (
        "class Seen:\n    def body(self, x):\n        self.all.append(x)\n        return x\n\n    def make(self, x):\n"
    )
    call = "        return tf.numpy_function(self.body, [x], tf.float32)\n"
    (folder / "one+planted" / "method.py").write_text(HEAD + method + call, encoding="utf-8")
    sites = [site for site in scanned(folder)["sites"] if site["file"].endswith("method.py")]
    assert [body.obstacle for _, body in script.examine_sites(folder, sites)] == ["state"]


def test_calls_by_name_that_the_scan_does_not_report_are_listed(script: ModuleType, folder: Path) -> None:
    wrapper = "def py_func(body):\n    return body\n\nz = py_func(len)\n"
    (folder / "two+copies" / "wrapper.py").write_text(wrapper, encoding="utf-8")
    (folder / "two+copies" / "old.py").write_text("print 'old'\ny = tf.py_func(body, [x], tf.float32)\n", "utf-8")
    (folder / "two+copies" / ".git").mkdir()
    (folder / "two+copies" / ".git" / "hook.py").write_text("y = tf.py_func(body, [x], tf.float32)\n", "utf-8")
    found = scanned(folder)
    every = script.calls_by_name(folder, found)
    assert every["calls"] == len(PLANTED) + 3
    assert every["unreadable"] == 1
    assert every["not reported"] == [{"repository": "two/copies", "path": "wrapper.py", "line": 4, "call": "py_func"}]
    found["sites"] = found["sites"][1:]
    assert len(script.calls_by_name(folder, found)["not reported"]) == 2


def test_what_is_drawn_depends_on_the_seed_alone(script: ModuleType) -> None:
    sites = [{"line": line} for line in range(100)]
    assert script.draw(sites, 5, 1) == script.draw(sites, 5, 1) != script.draw(sites, 5, 2)
    assert script.draw(sites, 200, 1) == sites


def test_what_is_written_is_what_was_counted(script: ModuleType, folder: Path) -> None:
    scan_file, out = folder / "scan.json", folder / "census.json"
    scan_file.write_text(json.dumps(scanned(folder)), encoding="utf-8")
    assert script.main([str(folder), str(scan_file), "--json", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["callbacks"] == sum(written["kind"].values()) == len(PLANTED) + 2


def test_an_estimate_stands_next_to_what_became_of_the_port(script: ModuleType, tmp_path: Path) -> None:
    op = "from pyopbench import OwnOp\n\nOP = OwnOp(inputs=(), numpy=body)\n"
    for name in ("none", "library"):
        (tmp_path / f"{name}.py").write_text(f"{HEAD}{PLANTED[name]}\n\n{op}", encoding="utf-8")
    forms = [{"form": "njit", "became": "wrong"}, {"form": "traced_file", "became": "right"}]
    run = {"examined": [{"body": "none", "forms": forms}, {"body": "library", "forms": []}]}
    assert script.compare(tmp_path, run) == [
        {"body": "none", "obstacle": "none", "file": "right"},
        {"body": "library", "obstacle": "library", "file": "not tried"},
    ]


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"sites": [{"file": "/elsewhere/a.py"}]}'], ids=["no JSON", "no scan", "of another folder"]
)
def test_what_is_no_scan_of_the_folder_is_refused(script: ModuleType, folder: Path, broken: str) -> None:
    path = folder / "scan.json"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        script.main([str(folder), str(path)])
    assert ended.value.code == 2


@pytest.mark.parametrize("lines", [None, "one+planted\n"], ids=["absent", "without a hash"])
def test_repositories_without_commits_are_refused(script: ModuleType, folder: Path, lines: str | None) -> None:
    (folder / "scan.json").write_text(json.dumps(scanned(folder)), encoding="utf-8")
    (folder / "commits").unlink()
    if lines is not None:
        (folder / "commits").write_text(lines, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        script.main([str(folder), str(folder / "scan.json")])
    assert ended.value.code == 2
