"""What Python callbacks in TensorFlow programs do: counts over public sources, none of which are run or kept.

    pyopbench scan FOLDER --json > scan.json
    python scripts/callback_census.py FOLDER scan.json           # writes results/outside/census.json
    python scripts/callback_census.py FOLDER scan.json --draw 100 --seed 47  # places to check by hand, nothing written

FOLDER has a folder OWNER+NAME for each repository, and a file `commits` with a line `OWNER+NAME HASH` for each.

It counts the kinds, places, gradients and risks that the scan reports, and what each body calls, as far as names show
it. From that it estimates whether the body can be ported: the first obstacle of `OBSTACLES` that its names show, or
none. With `--ops FOLDER` it makes the same estimate for op files whose ports were run
(`benchmarks/outside/callbacks.py`), and compares it with the results; without it, that part of the stored file stays.
Exit codes: 0 done, 2 bad usage.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from pyopbench.find.call_sites import CALLBACKS, CallbackNode, body_of, find_callbacks, parse
from pyopbench.find.context import last_name
from pyopbench.find.draft import take_body
from pyopbench.find.notebook import Notebook
from pyopbench.find.risks import RANDOM
from pyopbench.find.scan import read_source
from pyopbench.find.source import UNKNOWN, ProgramSource
from pyopbench.model.errors import BadInput
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.table import TABLE
from pyopbench.ports.porting.writers import WRITERS
from pyopbench.ports.tensor_functions.sources import FUNCTIONS

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
import stored_document  # noqa: E402 - its folder was just added
from outside import tallies  # noqa: E402 - likewise

STORED = ROOT / "results" / "outside" / "census.json"
CHECKED = ROOT / "results" / "outside" / "census_checked.json"
"""What readers of the sources said of 100 callbacks: which `ASPECTS` of `census_tables.py` are wrong, and why."""

RUN = ROOT / "results" / "outside" / "callbacks.json"
VERSION = 1
MOST = 15
"""How many names of a list of libraries or functions are kept."""

NAMED = re.compile(rf"\b(?:{'|'.join(CALLBACKS)})\s*\(".encode())
"""What looks like a call by the name of a callback in text that cannot be parsed."""

OBSTACLES = {
    "absent": "the body is not in the file: it is imported, a method of another object, or made at run time",
    "outside": "it reads or writes files, or prints",
    "state": "it keeps state: assigns to `self` or to a global name",
    "library": "it calls another library, or functions of SciPy without a counterpart",
    "unknown": "it calls functions of other modules of the program, or methods whose object the file does not show",
    "tensorflow": "it computes with TensorFlow: no port from NumPy is needed",
    "missing": "it calls functions of NumPy without a counterpart",
    "draws": "it draws random numbers",
    "none": "names show no obstacle: every call is known",
}
"""In this order, the first one counts."""

TRAITS = {
    "loops": "loops: `for`, `while` or a comprehension",
    "text": "works on text",
    "outside": "reads or writes files, or prints",
    "draws": "draws random numbers",
    "state": "keeps state",
    "tensorflow": "calls TensorFlow",
    "numpy": "calls NumPy",
}
OUTSIDE_MODULES = {
    *("os", "shutil", "pickle", "io", "pathlib", "tempfile", "subprocess", "glob", "csv", "logging", "warnings", "sys"),
    *("zipfile", "urllib", "sqlite3", "socket", "gzip", "time", "absl"),
}
TEXT_MODULES = {"re", "string", "json", "unicodedata", "textwrap", "base64"}
OF_PATHS = "os.path."
OUTSIDE_NAMES = ("read", "load", "save", "imread", "imwrite", "imsave", "write", "open", "from_file", "fromfile")
"""Beginnings of the names of functions that read and write, in any library: `cv2.imread`, `librosa.load`."""

OUTSIDE_TENSORFLOW = ("io.", "gfile.", "compat.v1.gfile.", "compat.v2.io.", "read_file", "write_file", "print")
PYTHON = {
    *("range", "zip", "enumerate", "tuple", "list", "dict", "set", "sum", "isinstance", "slice", "reversed", "sorted"),
    *("str", "bytes", "any", "all", "map", "filter", "type", "pow", "divmod", "hasattr", "getattr", "super", "iter"),
    *("next", "complex", "callable", "ord", "chr", "id", "hash", "frozenset", "object"),
}
TEXT = {
    *("decode", "encode", "lower", "upper", "strip", "lstrip", "rstrip", "split", "rsplit", "startswith", "endswith"),
    *("join", "format", "replace", "splitlines", "isdigit", "zfill"),
}
CHANGING = {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add"}
OF_CONTAINERS = {*CHANGING, "items", "keys", "values", "get", "index", "count"}
OF_ARRAYS = {"astype", "item", "tolist", "numpy", "fill", "view", "conj", "tobytes", "as_list", "get_shape"}
"""Methods of arrays that are not also functions of NumPy, and methods of eager tensors."""

OLD_NAMES = {"np.int": "int", "np.float": "float", "np.float_": "np.float64", "np.product": "np.prod"}
"""Names that NumPy 2 no longer has, with the current ones."""


@dataclass
class Body:
    """What the names in a body say of it.

    Attributes:
        traits: keys of `TRAITS`, and of `OBSTACLES` from `library` to `missing`.
        libraries: other libraries that it calls.
        functions: of NumPy's that it calls, as tables have them.
        missing: those of them, and of SciPy's, that no table has.
        digest: of its text and of what it needs; empty for an absent one.
    """

    traits: set[str] = field(default_factory=set)
    libraries: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    digest: str = ""

    @property
    def obstacle(self) -> str:
        """The first of `OBSTACLES` that it has."""
        return next((one for one in OBSTACLES if one in self.traits), "none")


def examine(source: ProgramSource, found: CallbackNode, own_modules: Collection[str] = ()) -> Body:
    """Return what the body of a callback calls, in the text that `pyopbench scan --draft` would take.

    Args:
        source: the file.
        found: the callback in it.
        own_modules: names of modules and packages of the program itself.
    """
    given = body_of(source, found)
    if isinstance(given, ast.expr) and source.path(given).partition(".")[0] in own_modules:
        return Body({"absent"})
    try:
        taken = take_body(source, found)
        text = "\n".join([*taken.imports, *taken.helpers, taken.code])
        inner = ProgramSource.of(parse(text.encode()))
    except (SyntaxError, ValueError):  # a helper that cannot stand by itself
        return Body({"absent"})
    if not taken.code:
        return Body({"absent"})
    body = Body(digest=hashlib.sha256(text.encode()).hexdigest())
    defined = {one.name for one in ast.walk(inner.tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(inner.tree):
        if isinstance(node, ast.For | ast.While | ast.comprehension):
            body.traits.add("loops")
        elif isinstance(node, ast.Global | ast.Nonlocal) or _changes_object(node):
            body.traits.add("state")
        elif isinstance(node, ast.Call):
            _enter_call(body, inner, node, defined, own_modules)
    return body


def _changes_object(node: ast.AST) -> bool:
    """Does it assign to an attribute of `self`, or to a part of one?"""
    if not isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _enter_call(
    body: Body, source: ProgramSource, call: ast.Call, defined: Collection[str], own_modules: Collection[str]
) -> None:
    path = source.path(call.func)
    name = path.removeprefix(UNKNOWN)
    root, _, rest = name.partition(".")
    last = name.rpartition(".")[2] or getattr(call.func, "attr", "")
    if not path or path.startswith(UNKNOWN):
        body.traits |= _traits_of_unknown(name, last, defined)
    elif path.startswith(RANDOM):
        body.traits |= {"draws"} | ({"tensorflow"} if root == "tensorflow" else set())
    elif path.startswith(OF_PATHS) or root in TEXT_MODULES:
        body.traits.add("text")
    elif root == "tensorflow":
        body.traits.add("tensorflow")
        if rest.startswith(OUTSIDE_TENSORFLOW):
            body.traits.add("outside")
    elif root in {"numpy", "scipy", "math"}:
        function = _table_name(path)
        body.traits |= {"numpy"} if root == "numpy" else set()
        body.functions |= {function} if root == "numpy" else set()
        if function not in _known() and last.startswith(OUTSIDE_NAMES):
            body.traits.add("outside")
        elif function not in _known():
            body.missing.add(function)
            body.traits.add("library" if root == "scipy" else "missing")
            body.libraries |= {"scipy"} if root == "scipy" else set()
    elif not root or root in own_modules:  # of a relative import
        body.traits.add("unknown")
    elif root in OUTSIDE_MODULES:
        body.traits.add("outside")
    elif root not in sys.stdlib_module_names:
        body.libraries.add(root)
        body.traits |= {"library"} | ({"outside"} if last.startswith(OUTSIDE_NAMES) else set())


def _traits_of_unknown(name: str, last: str, defined: Collection[str]) -> set[str]:
    """Return what the call of a name that no import binds says, or of a method: of a local name, or a result."""
    is_method = name != last or not name
    if not is_method:
        if name in {"open", "input", "print"}:
            return {"outside"}
        is_known = name in defined or name in PYTHON or name in _known() or name.endswith(("Error", "Exception"))
        return set() if is_known else {"unknown"}
    if name.startswith(("self.", "cls.")) and name.count(".") == 1:
        return set() if last in defined else {"unknown"}
    if name.startswith("self.") and last in CHANGING:
        return {"state"}
    if last in TEXT:
        return {"text"}
    is_known = last in OF_CONTAINERS | OF_ARRAYS or _table_name(f"numpy.{last}") in _known()
    return set() if is_known else {"unknown"}


@cache
def _known() -> frozenset[str]:
    """Return the names that the tables of the port to TensorFlow ops have."""
    assert WRITERS  # importing them enters their functions
    return frozenset({*TABLE, *FUNCTIONS})


@cache
def _table_name(path: str) -> str:
    """Return the name that tables have a function of NumPy, SciPy or `math` under: `np.absolute` for `numpy.abs`."""
    root, *attributes = path.split(".")
    value: Any = importlib.import_module(root)
    for attribute in attributes:
        value = getattr(value, attribute, None)
    short = path.replace("numpy.", "np.", 1)
    if value is None or value in vars(builtins).values():
        return OLD_NAMES.get(short, short)
    return name_of(value) or short


def examine_sites(folder: Path, sites: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Body]]:
    """Return what the names say of each callback of a scan, each file parsed once.

    Args:
        folder: that was scanned.
        sites: of the scan, by file.
    """
    modules, found = dict[str, set[str]](), list[tuple[Mapping[str, Any], Body]]()
    for file, group in groupby(sites, key=lambda site: site["file"]):
        here, repository = list(group), repository_of(folder, file)
        if repository not in modules:
            modules[repository] = _modules_of(folder / repository)
        code, notebook = read_source(Path(file))
        source = ProgramSource.of(parse(code))
        place_of = partial(_place_of, notebook)
        known = {place_of(one.node): one for one in find_callbacks(source)}
        calls = {place_of(node): node for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
        for site in here:
            place = site["line"], site["column"]
            node = known.get(place)
            if node is None and place in calls:  # a callback by what another file says
                node = CallbackNode(calls[place], site["kind"], site["form"], "")
            found.append((site, Body({"absent"}) if node is None else examine(source, node, modules[repository])))
    return found


def _place_of(notebook: Notebook | None, node: ast.expr) -> tuple[int, int]:
    return node.lineno if notebook is None else notebook.place(node.lineno).line, node.col_offset + 1


def repository_of(folder: Path, file: str) -> str:
    """Return the name of the folder of a repository that a file is in."""
    return Path(file).relative_to(folder).parts[0]


def _modules_of(folder: Path) -> set[str]:
    names = {folder.name.partition("+")[2]}
    for _, folders, files in os.walk(folder.resolve()):
        names |= {*folders, *(Path(file).stem for file in files if file.endswith(".py"))}
    return names - {"numpy", "tensorflow", "cv2", "scipy"}


def count(folder: Path, scanned: Mapping[str, Any], commits: Mapping[str, str]) -> dict[str, Any]:
    """Return the counts of a scan.

    Args:
        folder: that was scanned.
        scanned: what `pyopbench scan --json` wrote.
        commits: of the repositories.
    """
    sites = scanned["sites"]
    examined = examine_sites(folder, sites)
    bodies = [body for _, body in examined]
    distinct = {body.digest: body for body in bodies if body.digest}.values()
    by_kind = {key: dict(_ordered(site[key] for site in sites)) for key in ("kind", "form", "context", "gradient")}
    files = {site["file"] for site in sites}
    in_repository = Counter(repository_of(folder, file) for file in files)
    return {
        "repositories": [
            {"name": name.replace("+", "/", 1), "commit": commit, "files": in_repository[name]}
            for name, commit in commits.items()
        ],
        "scanned": {"files": scanned["files"], "lines": scanned["lines"], "unreadable": len(scanned["broken"])},
        "files": len(files),
        "distinct files": len({hashlib.sha256(Path(file).read_bytes()).digest() for file in files}),
        "callbacks": len(sites),
        **by_kind,
        "certain": sum(site["certain"] for site in sites),
        "risk": dict(_ordered(risk["name"] for site in sites for risk in site["risks"])),
        "no risk": sum(not site["risks"] for site in sites),
        "obstacle": {"callbacks": _obstacles(bodies), "distinct": _obstacles(distinct)},
        "present": {"callbacks": sum(bool(body.digest) for body in bodies), "distinct": len(distinct)},
        "trait": {
            name: {
                "callbacks": sum(name in body.traits for body in bodies),
                "distinct": sum(name in body.traits for body in distinct),
            }
            for name in TRAITS
        },
        "library": dict(_ordered(name for body in distinct for name in body.libraries)[:MOST]),
        "function": dict(_ordered(name for body in distinct for name in body.functions)[:MOST]),
        "missing": dict(_ordered(name for body in distinct for name in body.missing)[:MOST]),
        "by name": calls_by_name(folder, scanned),
    }


def calls_by_name(folder: Path, scanned: Mapping[str, Any]) -> dict[str, Any]:
    """Count the calls that have the name of a callback of TensorFlow, and list those that a scan does not report.

    Args:
        folder: that was scanned.
        scanned: what `pyopbench scan --json` wrote.

    Returns:
        `calls`: their number in files that can be parsed. `not reported`: those that are not in the scan. `unreadable`:
        the number in the other files, by their text.
    """
    reported = {(site["file"], site["line"], site["column"]) for site in scanned["sites"]}
    calls, not_reported, unreadable = 0, list[dict[str, Any]](), 0
    for file in _sources(folder, scanned["skipped"]):
        text = file.read_bytes()
        if not NAMED.search(text):
            continue
        try:
            code, notebook = read_source(file)
            tree = parse(code)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            unreadable += len(NAMED.findall(text))
            continue
        named = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and last_name(one.func) in CALLBACKS]
        calls += len(named)
        repository = repository_of(folder, str(file))
        for call in named:
            line, column = _place_of(notebook, call)
            if (str(file), line, column) not in reported:
                path = file.relative_to(folder / repository).as_posix()
                place = {"repository": repository.replace("+", "/", 1), "path": path, "line": line}
                not_reported.append({**place, "call": ast.unparse(call.func)})
    return {"calls": calls, "not reported": not_reported, "unreadable": unreadable}


def _sources(folder: Path, skipped: Collection[str]) -> Iterator[Path]:
    """Yield the Python sources and notebooks of a folder, without the folders that the scan skipped."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if os.path.join(place, one) not in skipped)
        yield from (Path(place, one) for one in sorted(files) if one.endswith((".py", ".ipynb")))


def _ordered(values: Iterator[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))


def _obstacles(bodies: Collection[Body]) -> dict[str, int]:
    counted = Counter(body.obstacle for body in bodies)
    return {name: counted[name] for name in OBSTACLES}


def compare(folder: Path, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the estimate for op files next to what became of their ports.

    Args:
        folder: of op files.
        run: what `benchmarks/outside/callbacks.py` wrote of them.
    """
    rows = []
    for one in run["examined"]:
        source = ProgramSource.of(parse((folder / f"{one['body']}.py").read_bytes()))
        calls = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
        op = next(call for call in calls if source.path(call.func).endswith("OwnOp"))
        given = {keyword.arg: keyword.value for keyword in op.keywords}
        kind = "numpy" if "numpy" in given else "py_function"
        node = ast.copy_location(ast.Call(op.func, [given[kind]], []), op)
        source.parents[node] = source.parents[op]
        body = examine(source, CallbackNode(node, "py_function" if kind != "numpy" else "numpy_function", "call", ""))
        became = {form["form"]: form["became"] for form in one["forms"]}
        rows.append({"body": one["body"], "obstacle": body.obstacle, "file": became.get("traced_file", "not tried")})
    return rows


def draw(sites: Sequence[Mapping[str, Any]], number: int, seed: int) -> list[Mapping[str, Any]]:
    """Return so many callbacks of a scan, drawn without replacement and in the order of the scan."""
    places = sorted(random.Random(seed).sample(range(len(sites)), min(number, len(sites))))
    return [sites[place] for place in places]


# The command line.


def read_commits(folder: Path) -> dict[str, str]:
    """Return the commit of each repository below a folder.

    Raises:
        BadInput: the file `commits` is not there, or has other lines.
    """
    path, legal = folder / "commits", "a line OWNER+NAME HASH for each repository"
    if not path.is_file():
        raise BadInput(
            "the commits of the repositories are not known", received=str(path), legal=legal, hint="write it"
        )
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    wrong = next((line for line in lines if len(line) != 2), None)
    if wrong is not None:
        raise BadInput("not a repository and its commit", received=" ".join(wrong), legal=legal, hint=f"correct {path}")
    return dict(lines)


def read_scan(folder: Path, path: Path) -> dict[str, Any]:
    """Return what a scan of a folder wrote.

    Raises:
        BadInput: it is no scan, or one of other files.
    """
    command = f"pyopbench scan {folder} --json > {path}"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        files = [Path(site["file"]) for site in found["sites"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput("not the result of a scan", received=f"{path}: {error!r}", hint=command) from error
    other = next((file for file in files if not file.is_relative_to(folder) or not file.is_file()), None)
    if other is not None:
        raise BadInput("a scan of other files", received=str(other), legal=f"files below {folder}", hint=command)
    return dict(found)


def main(arguments: Sequence[str]) -> int:
    """Count, or draw places to check; returns the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="a folder for each repository, and `commits`")
    parser.add_argument("scan", type=Path, help="what `pyopbench scan FOLDER --json` wrote")
    parser.add_argument("--json", type=Path, default=STORED, help="what to write (results/outside/census.json)")
    parser.add_argument("--ops", type=Path, help="the op files of results/outside/callbacks.json, to compare with")
    parser.add_argument("--draw", type=int, metavar="N", help="print so many callbacks to check by hand")
    parser.add_argument("--seed", type=int, default=46, help="of what is drawn (46)")
    options = parser.parse_args(arguments)
    try:
        scanned, commits = read_scan(options.folder, options.scan), read_commits(options.folder)
    except BadInput as error:
        parser.error(str(error))
    if options.draw is not None:
        drawn = draw(scanned["sites"], options.draw, options.seed)
        for site, body in examine_sites(options.folder, drawn):
            sys.stdout.write(f"{json.dumps({**site, 'body_text': site['body'], **_plain(body)})}\n")
        return 0
    document = stored_document.begin(VERSION, ("numpy", "scipy", "tensorflow-cpu"), {})
    document |= count(options.folder, scanned, commits)
    before = _content(options.json)["run sample"] if options.json.is_file() else []
    document["run sample"] = compare(options.ops, _content(RUN)) if options.ops else before
    stored_document.write(options.json, document)
    return 0


def _plain(body: Body) -> dict[str, Any]:
    return {
        "obstacle": body.obstacle,
        **{key: sorted(value) for key, value in asdict(body).items() if isinstance(value, set)},
    }


def _content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
