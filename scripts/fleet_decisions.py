"""Whether shards, and a fleet over Dask, give what one run gives: the plan, each case once, and the decisions.

python scripts/fleet_decisions.py [FOLDER]

TensorFlow is measured, three times over: in one run, in four shards that are merged, and by four hosts of a scheduler
of Dask. Hosts are processes of this machine that take turns, so that each has all cores while it measures. Machines
that differ cannot be tried like this: decisions are compared here, not machines.

Three measurements of one thing differ by noise. Each answer comes with a bound on what it may cost at the most against
the best. Where another way gave another answer, what the first costs by the samples of the other, less what that may
be off by, has to be within its bound. What one way leaves undecided contradicts nothing. Prints what each way gave and
by what answers differ, and exits with 1 if that is more, or if plans, cases or samples are not the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleet_hosts import ROOT, Site, run_client

from pyopbench.judge.choice import Choice
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.store import run_folder

HOSTS = ("host1", "host2", "host3", "host4")
BASELINE = "py_function_numpy"
WORDS = (
    *("sinh", "cube", "relu", "log", "--mode", "call", "--direction", "forward", "--axis", "size=1e3,1e5"),
    *("--variant", f"{BASELINE},numpy_function,native", "--no-parts", "--no-probes", "--settings", "seed=1"),
    *("--until", "end", "--launches", "6", "--settings", "rounds=60"),
)
"""One unit for each host, and launches in which everything is measured equally often: as many in all three ways."""


@dataclass(frozen=True)
class Way:
    """What came of a way to measure.

    Attributes:
        name: of the way.
        plans: hashes of the plans of its shards; none without shards.
        cases: how often each was planned, in all its shards.
        judgement: of what was measured.
        seconds: that it took.
    """

    name: str
    plans: frozenset[str]
    cases: Counter[str]
    judgement: Judgement
    seconds: float

    @property
    def decisions(self) -> dict[tuple[str, ...], tuple[Decision, Choice | None]]:
        """Each decision and the choice that it was made from, by where it holds."""
        made = [one for _, one in self.judgement.choices]
        return {
            (one.op, one.use, one.mode, one.dtype, one.placement): (one, None if choice is None else choice[0])
            for one, choice in zip(self.judgement.decisions, made, strict=True)
        }

    @property
    def launches(self) -> dict[str, int]:
        """How many launches have measured each case."""
        frame = self.judgement.run.frame
        return {str(case): int(many) for case, many in frame.groupby("case", observed=True)["launch"].nunique().items()}

    @property
    def doubled(self) -> int:
        """How many samples are there more than once."""
        return int(self.judgement.run.frame.duplicated(["launch", "case", "round"]).sum())


def pyopbench(*words: str, **variables: str) -> None:
    """Run a command of pyopbench and end with it if it fails."""
    environment = {**os.environ, **variables}
    subprocess.run(
        [sys.executable, "-m", "pyopbench", *words, "--quiet"], env=environment, check=True, stdout=subprocess.DEVNULL
    )


def one_run(site: Site) -> Path:
    """Measure everything in one run."""
    pyopbench("run", *WORDS, "--out", str(site.folder / "one"))
    return site.folder / "one"


def shards(site: Site) -> Path:
    """Measure a shard on each host, and merge them."""
    folders = [site.folder / "shards" / str(index) for index in range(1, len(HOSTS) + 1)]
    for index, (host, folder) in enumerate(zip(HOSTS, folders, strict=True), 1):
        shard = ("--shard", f"{index}/{len(HOSTS)}", "--out", str(folder))
        pyopbench("run", *WORDS, *shard, PYOPBENCH_HOST=host)
    pyopbench("merge", *map(str, folders), "--out", str(site.folder / "merged"))
    return site.folder / "merged"


def over_dask(site: Site) -> Path:
    """Measure with a fleet, which merges by itself."""
    scheduler = site.add_scheduler()
    for host in HOSTS:
        site.add_host(host, scheduler)
    words = ["--shards", str(len(HOSTS)), "--scheduler", scheduler, "--out", str(site.folder / "fleet")]
    log = site.folder / "client.log"
    if run_client(["run", *WORDS, *words], log):
        raise SystemExit(f"the fleet failed:\n{log.read_text(encoding='utf-8')}")
    return site.folder / "fleet" / "merged"


WAYS = {
    "one run": (one_run, "one"),
    "shards": (shards, "shards/*"),
    "Dask": (over_dask, "fleet/shards/*"),
}
"""How each is measured, and where the `run.json` of its parts lie."""


def measured(site: Site, name: str) -> Way:
    """Measure in one way."""
    measure, pattern = WAYS[name]
    began = time.monotonic()
    judged = judge([measure(site)], Judging(BASELINE, MINIMUM_EFFECT))
    seconds = time.monotonic() - began
    runs = [run_folder.read_run(path.parent) for path in sorted(site.folder.glob(f"{pattern}/{run_folder.RUN_FILE}"))]
    plans = frozenset(run["shard"]["plan"] for run in runs if "shard" in run)
    return Way(name, plans, Counter(case for run in runs for case in run["cases"]), judged, seconds)


def faults(ways: Mapping[str, Way]) -> Iterator[str]:
    """Yield what is not as it has to be, but for answers."""
    one, *divided = ways.values()
    plans = {plan for way in divided for plan in way.plans}
    if len(plans) != 1:
        yield f"{len(plans)} plans"
    for way in ways.values():
        if way.cases != Counter(one.cases.keys()):
            yield f"{way.name}: not the cases of the plan, each once"
        if way.launches != one.launches:
            yield f"{way.name}: other launches than one run has"
        if way.doubled:
            yield f"{way.name}: {way.doubled:,} samples are there more than once"
        if way.decisions.keys() != one.decisions.keys():
            yield f"{way.name}: not the decisions of one run"


@dataclass(frozen=True)
class Difference:
    """An answer that another way has not got: what it costs by the samples of that, in shares of today's time.

    Attributes:
        what: was decided, and by which two ways.
        lag: what the answer costs more than the best.
        reach: how far that may be off.
        bound: what it came with.
    """

    what: str
    lag: float
    reach: float
    bound: float

    @property
    def is_contradiction(self) -> bool:
        """Whether it costs more than its bound by more than that may be off."""
        return self.lag - self.reach > self.bound

    @property
    def text(self) -> str:
        """What an answer costs by the other way."""
        lag, reach, bound = map(formatting.percent, (self.lag, self.reach, self.bound))
        return f"{self.what}: {lag} more than the best, off by up to {reach}; its bound is {bound}"


def differences(ways: Mapping[str, Way]) -> Iterator[Difference]:
    """Yield the answers of one run that shards or Dask have not got, and theirs that it has not."""
    one, *divided = ways.values()
    for way in divided:
        for place in one.decisions.keys() & way.decisions.keys():
            yield from filter(None, (_difference(place, one, way), _difference(place, way, one)))


def _difference(place: tuple[str, ...], told: Way, by: Way) -> Difference | None:
    """Return what the answer of one way costs by another; None where they agree or either leaves it undecided."""
    decision, (other, choice) = told.decisions[place][0], by.decisions[place]
    if decision.answer == other.answer or decision.loss is None or other.loss is None or choice is None:
        return None
    label = decision.choice or decision.baseline
    standing = next(one for one in choice.standings if one.label == label)
    what = f"{place[0]} {place[1]}: {label} of {told.name} by {by.name}"
    return Difference(what, standing.lag, standing.reach, decision.loss)


def show(ways: Mapping[str, Way]) -> None:
    """Print what each way gave, side by side."""
    print(f"{'':22}" + "".join(f"{name:>42}" for name in ways))
    rows = {
        "plans of shards": lambda way: " ".join(sorted(plan[:8] for plan in way.plans)) or "-",
        "cases, shards' together": lambda way: f"{len(way.cases)}, {sum(way.cases.values())}",
        "launches of a case": lambda way: " ".join(map(str, sorted(set(way.launches.values())))),
        "machines": lambda way: str(len(set(way.judgement.run.hosts.values())) or 1),
        "samples, doubled": lambda way: f"{len(way.judgement.run.frame):,}, {way.doubled:,}",
        "seconds": lambda way: f"{way.seconds:.0f}",
    }
    for title, cell in rows.items():
        print(f"{title:22}" + "".join(f"{cell(way):>42}" for way in ways.values()))
    for place in next(iter(ways.values())).decisions:
        told = (way.decisions.get(place) for way in ways.values())
        print(f"{' '.join(place[:2]):22}" + "".join(f"{'-' if one is None else _text(one[0]):>42}" for one in told))


def _text(decision: Decision) -> str:
    saved, loss = ("?" if value is None else formatting.percent(value) for value in (decision.saved, decision.loss))
    return f"{decision.choice or decision.action}, {saved} (loss <= {loss})"


def main() -> None:
    """Measure in all three ways, print what each gave, and end with 1 if they differ."""
    folder = Path((*sys.argv[1:], tempfile.mkdtemp(prefix="fleet-decisions-"))[0]) / "hosts"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    os.environ["PYOPBENCH_LOCK_FOLDER"] = str(folder / "locks")
    site = Site(folder, measures=True)
    site.share_one_lock(*HOSTS)
    try:
        ways = {name: measured(site, name) for name in WAYS}
    finally:
        site.close()
    show(ways)
    answers = list(differences(ways))
    found = [*faults(ways), *(one.text for one in answers if one.is_contradiction)]
    for one in answers:
        print(f"answers differ: {one.text}")
    print("\n".join(["NOT the same:", *found]) if found else "the same plan, each case once, no answer contradicted")
    print(f"results in {folder}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
