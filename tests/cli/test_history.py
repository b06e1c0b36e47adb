"""`pyopbench history`: what it prints and writes, exit codes, and what it measures again."""

from __future__ import annotations

import gc
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

import repositories
import stored
from histories import CHANGED, KEYS, commit, stepped, write_asv, write_commits
from pairs import write_run, write_versions
from pyopbench.cli import app, history
from pyopbench.store import run_sides

LABELS = ("2.15.1", "2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0", "2.21.0")
SLOWER = {label: {"factors": {CHANGED: 1.2}} for label in LABELS[4:]}


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Calls the command line as a shell does, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*words: Path | str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pyopbench", "history", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return called


@pytest.fixture
def versions(tmp_path):
    """A run over seven versions, of which one case is slower from the fifth on."""
    return write_versions(tmp_path / "run", *LABELS, **SLOWER)


class Reruns:
    """Stands for the process that measures again: writes what it would have measured."""

    def __init__(self, monkeypatch, factor: float, code: int = 0) -> None:
        self.commands: list[tuple[str, ...]] = []
        self.factor, self.code, self.launches = factor, code, 4
        monkeypatch.setattr(history.subprocess, "run", self)

    def __call__(self, command, **options):
        self.commands.append(tuple(command))
        assert options["stdout"] is not None  # what it prints is no output of this command
        goes_on = command[3] == "resume"
        folder = Path(command[4] if goes_on else command[command.index("--out") + 1])
        if goes_on:
            shutil.rmtree(folder)
        if not self.code:
            usual = {"launches": self.launches}
            changes = {"2.18.1": usual, "2.19.1": {**usual, "factors": {CHANGED: self.factor}}}
            write_versions(folder, *changes, **changes)
        return SimpleNamespace(returncode=self.code)


def read_part(tmp_path, part="changes"):
    return json.loads((tmp_path / "results/history/history.json").read_text(encoding="utf-8"))[part]


def test_it_writes_a_page_markdown_and_json_and_prints_the_changes(call, tmp_path):
    paths = write_commits(tmp_path / "runs", stepped(14, 8, 1.3))
    code, printed, _ = call(*paths)
    assert code == 0
    folder = tmp_path / "results" / "history"
    assert {path.name for path in folder.iterdir()} == {"history.html", "history.md", "history.json"}
    assert [one["status"] for one in read_part(tmp_path)] == ["suspected"]
    assert f"--rev {commit(7)} --rev {commit(8)}" in printed
    assert printed.splitlines()[-1] == "page: results/history/history.html"


def test_json_is_what_is_in_the_file(call, tmp_path):
    folder = write_asv(tmp_path / "asv", [1.0, 1.0])
    code, printed, _ = call(folder, "--json", "--out", "out")
    assert code == 0
    assert json.loads(printed) == json.loads((tmp_path / "out" / "history.json").read_text(encoding="utf-8"))


def test_the_garbage_collector_is_left_as_it_was(call, tmp_path):
    before = gc.get_threshold()
    call(write_asv(tmp_path / "asv", [1.0, 1.0]), "--out", "out")
    assert gc.get_threshold() == before


def test_a_suspicion_is_measured_again_and_confirmed(call, tmp_path, monkeypatch, versions):
    again = Reruns(monkeypatch, 1.2)
    code, _, _ = call(versions, "--confirm", "--budget", "2m")
    assert code == 1
    (command,) = again.commands
    assert command[:8] == (sys.executable, "-m", "pyopbench", "run", "double", "--tf", "2.18.1", "--tf")
    place = "results/history/reruns/2.18.1-2.19.1"
    assert command[-6:] == ("--min-effect", "0.03", "--budget", "120s", "--out", place)
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"]


def test_what_was_measured_again_is_kept_and_not_measured_twice(call, tmp_path, monkeypatch, versions):
    again = Reruns(monkeypatch, 1.2)
    call(versions, "--confirm")
    code, _, _ = call(versions, "--confirm")
    assert (code, len(again.commands)) == (0, 1)
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"]


def test_what_is_not_settled_is_measured_on_by_the_next_one(call, tmp_path, monkeypatch, versions):
    again = Reruns(monkeypatch, 1.2)
    again.launches = 1
    assert call(versions, "--confirm")[0] == 0
    assert [one["status"] for one in read_part(tmp_path)] == ["open"]
    again.launches = 4
    assert call(versions, "--confirm")[0] == 1
    on = ("resume", "results/history/reruns/2.18.1-2.19.1", "--yes", "--min-effect", "0.03")
    assert again.commands[1:] == [(sys.executable, "-m", "pyopbench", *on)]
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"]


def test_what_measuring_again_does_not_show_is_refuted(call, tmp_path, monkeypatch, versions):
    Reruns(monkeypatch, 1.0)
    code, _, _ = call(versions, "--confirm")
    assert code == 0
    assert [one["status"] for one in read_part(tmp_path)] == ["refuted"]


def test_a_re_run_that_fails_leaves_the_suspicion(call, tmp_path, monkeypatch, versions):
    Reruns(monkeypatch, 1.2, code=3)
    code, _, _ = call(versions, "--confirm")
    assert code == 0
    assert [one["status"] for one in read_part(tmp_path)] == ["suspected"]


def test_a_re_run_that_was_killed_is_begun_again_or_gone_on_with(call, tmp_path, monkeypatch, versions):
    place = tmp_path / "results/history/reruns/2.18.1-2.19.1"
    (place / "tf-2.18.1").mkdir(parents=True)
    again = Reruns(monkeypatch, 1.2)
    assert call(versions, "--confirm")[0] == 1
    assert [command[3] for command in again.commands] == ["run"], "nothing was planned as yet"
    for path in place.glob("*/samples.jsonl"):
        path.write_text("", encoding="utf-8")
    assert call(versions, "--confirm")[0] == 1
    assert [command[3] for command in again.commands] == ["run", "resume"], "it was planned, and nothing measured"


def test_another_case_between_the_same_moments_has_a_re_run_of_its_own(call, tmp_path, monkeypatch, versions):
    place = tmp_path / "results/history/reruns/2.18.1-2.19.1"
    sides = run_sides.name_sides(place, [run_sides.Side(label="", tf=version) for version in ("2.18.1", "2.19.1")])
    for side in sides:
        environment = {**stored.ENVIRONMENT, "tensorflow": side.tf}
        write_run(side.folder, [key for key in KEYS if key != CHANGED], environment=environment)
    run_sides.write(place, sides)
    again = Reruns(monkeypatch, 1.2)
    assert call(versions, "--confirm")[0] == 1
    (command,) = again.commands
    assert command[3] == "run"
    assert command[-1] == "results/history/reruns/2.18.1-2.19.1-2"


def test_commits_are_measured_again_as_revisions(call, tmp_path, monkeypatch):
    again = Reruns(monkeypatch, 1.2, code=2)
    code, _, _ = call(*write_commits(tmp_path / "runs", stepped(14, 8, 1.3)), "--confirm")
    (command,) = again.commands
    assert code == 0
    assert command[3:9] == ("run", "double", "--rev", commit(7), "--rev", commit(8))
    assert command[-1] == f"results/history/reruns/{commit(7)[:10]}-{commit(8)[:10]}"


def test_what_cannot_be_measured_again_here_is_said_with_its_command(call, tmp_path, monkeypatch):
    folder = write_asv(tmp_path / "asv", [1.0] * 12 + [2.0] * 12)
    again = Reruns(monkeypatch, 1.2)
    code, _, said = call(folder, "--confirm")
    assert (code, again.commands) == (0, [])
    assert "--interleave-rounds" in said


@pytest.mark.parametrize(
    ("words", "received"),
    [
        (("--alarm-rate", "2%"), "--alarm-rate 2%"),
        (("--min-effect", "much"), "much"),
        (("--budget", "5m"), "--budget 300s"),
    ],
)
def test_bad_options_are_told(call, versions, words, received):
    code, _, said = call(versions, *words)
    assert code == 2
    assert received in said


def test_no_results_are_told(call, tmp_path):
    code, _, said = call(tmp_path)
    assert code == 2
    assert str(tmp_path) in said


def test_thousands_of_warnings_are_counted_and_not_listed(call, tmp_path, monkeypatch) -> None:
    """Each of these runs was interrupted in the middle of a line."""
    monkeypatch.setattr(history, "MOST_ROWS", 2)
    runs = write_commits(tmp_path, [{}] * 5)
    for run in runs:
        with (run / "samples.jsonl").open("a", encoding="utf-8") as lines:
            lines.write('{"kind": "gro')
    code, _, err = call(*runs)
    assert code == 0
    *listed, last = err.splitlines()
    assert [line.partition(":")[0] for line in listed] == ["warning"] * 2
    stored_ones = read_part(tmp_path, "warnings")
    assert last == f"and {len(stored_ones) - 2} more warnings, all in history.json"


def test_benchmarks_that_do_not_measure_time_are_reported_once_not_for_each_file(call, tmp_path) -> None:
    code, _, _ = call(write_asv(tmp_path / "asv", [1.0] * 5))
    assert code == 0
    (stored_one,) = read_part(tmp_path, "warnings")
    assert (stored_one["kind"], stored_one["files"], stored_one["path"]) == ("no_times", 5, str(tmp_path / "asv/here"))


class RevisionReruns:
    """Replace the process that measures commits: from each commit in `slower` on, times grow by `factor`."""

    def __init__(self, monkeypatch, commits, *slower: str, factor: float = 1.3) -> None:
        self.commits, self.slower, self.factor, self.fails = list(commits), slower, factor, False
        self.seconds, self.now, self.budgets, self.is_interrupted = 60.0, 0.0, [], False
        monkeypatch.setattr(history.time, "monotonic", lambda: self.now)
        self.broken: set[str] = set()
        self.commands: list[list[str]] = []
        self.runs: list[tuple[str, ...]] = []
        self.real = history.subprocess.run
        monkeypatch.setattr(history.subprocess, "run", self)

    def __call__(self, command, **options):
        words = list(command)
        if words[0] != sys.executable:  # git's
            return self.real(command, **options)
        if words[3] == "resume":
            folder = Path(words[4])
            asked = [one.revision.commit for one in run_sides.read(folder) if not one.is_control]
            shutil.rmtree(folder)
            self.measure(folder, asked, 2)
            return SimpleNamespace(returncode=0)
        asked = [words[place + 1] for place, word in enumerate(words) if word == "--rev"]
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.runs.append(tuple(asked))
        self.commands.append(words)
        self.budgets += [words[place + 1] for place, word in enumerate(words) if word == "--budget"]
        self.now += self.seconds * len(asked)
        if self.fails:
            return SimpleNamespace(returncode=3)
        launches = int(words[words.index("--launches") + 1]) if "--launches" in words else 6
        self.measure(Path(words[words.index("--out") + 1]), asked, launches)
        return SimpleNamespace(returncode=0)

    def measure(self, folder: Path, asked, launches: int) -> None:
        """Write a run over commits, with the control that every run has."""
        sides = [
            run_sides.Side(
                "",
                revision=run_sides.Revision(one[:10], one, "2026-01-01T12:00:00+00:00", "a change"),
                problem="it has no such op" if one in self.broken else None,
            )
            for one in asked
        ]
        first = next(one for one in sides if one.problem is None)
        named = run_sides.name_sides(folder, [*sides, replace(first, is_control=True)])
        for number, one in enumerate(named):
            if one.problem is not None:
                continue
            place = self.commits.index(one.revision.commit)
            steps = sum(self.commits.index(other) <= place for other in self.slower)
            write_run(
                one.folder,
                list(KEYS),
                factors={CHANGED: self.factor**steps},
                launches=launches,
                seed=100 * len(self.runs) + number,
                revision=run_sides.stored_in_run(one.revision),
            )
        run_sides.write(folder, named)


def committed(tmp_path, many: int) -> list[str]:
    """Return the commits of a repository in the working directory."""
    place = repositories.repository(tmp_path)
    return [repositories.commit(place, {"work.py": f"N = {number}"}, f"{number}", day=1) for number in range(many)]


def surveyed(tmp_path, monkeypatch, many: int) -> tuple[RevisionReruns, Path]:
    """Return a measurer of commits, slower from the fourth on, and a run over the first and the last of them."""
    made = committed(tmp_path, many)
    again = RevisionReruns(monkeypatch, made, made[3])
    again.measure(tmp_path / "survey", [made[0], made[-1]], launches=4)
    return again, tmp_path / "survey"


def test_a_confirmed_change_is_followed_to_its_commit_by_halving(call, tmp_path, monkeypatch):
    """Results are there of every eighth commit only; which of the eight it was is measured."""
    made = committed(tmp_path, 49)
    measured = made[::8]
    paths = [
        write_run(
            tmp_path / f"run-{number:02}",
            KEYS,
            seed=number,
            factors={CHANGED: 1.3} if number >= 4 else {},
            environment={**stored.ENVIRONMENT, "commit": one},
            created=f"2026-01-{number + 1:02}T10:00:00+00:00",
        )
        for number, one in enumerate(measured)
    ]
    first = made[29]
    again = RevisionReruns(monkeypatch, made, first)
    code, printed, said = call(*paths, "--bisect")
    assert code == 1, said
    (found,) = read_part(tmp_path, "bisected")
    assert (found["case"], found["left"]) == (CHANGED, [first])
    assert len(again.runs) <= 6
    assert made[32] in again.runs[0], "the end of the suspicion"
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"]
    assert first[:10] in printed
    many = len(again.runs)
    assert call(*paths, "--bisect")[0] == 0
    assert len(again.runs) == many, "what was measured is not measured twice"
    (tmp_path / "results/history/history.json").unlink()
    shutil.rmtree(tmp_path / ".git")
    assert call(*paths)[0] == 0, "nothing was asked for"
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"], "nothing that was measured is lost"
    (tmp_path / "results/history/history.json").unlink()
    assert call(*paths, "--bisect")[0] == 1, "no page has named it"
    assert [one["status"] for one in read_part(tmp_path)] == ["confirmed"], "nothing that was measured is lost"
    shutil.rmtree(tmp_path / "results/history/reruns")
    assert call(*paths, "--bisect")[0] == 2


def test_steps_without_a_suspicion_are_found_in_an_interleaved_run_of_few_commits(call, tmp_path, monkeypatch):
    """Three commits are slower, and every eighth is measured; a plain history reads the stored rounds again."""
    made = committed(tmp_path, 25)
    planted = (3, 12, 13)
    again = RevisionReruns(monkeypatch, made, *(made[one] for one in planted), factor=1.1)
    survey = tmp_path / "survey"
    again.measure(survey, made[::8], launches=2)
    code, printed, said = call(survey, "--bisect")
    assert code == 1, said
    found = read_part(tmp_path, "bisected")
    assert sorted(one["left"] for one in found) == sorted([made[one]] for one in planted)
    assert {one["case"] for one in found} == {CHANGED}
    assert all(one["ratio"] == pytest.approx(1.1, abs=0.02) for one in found)
    assert all(made[one][:10] in printed for one in planted)
    measured = {commit for run in again.runs for commit in run}
    assert len(measured) < 15
    many = len(again.runs)
    assert call(survey)[0] == 0
    assert len(read_part(tmp_path, "bisected")) == 3
    assert len(again.runs) == many


def test_a_bisection_ends_if_commits_cannot_be_measured(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    made = again.commits
    again.fails = True
    assert call(survey, "--bisect")[0] == 0
    assert len(again.runs) == 1
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == made[1:]
    again.fails = False
    assert call(survey, "--bisect")[0] == 1
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [made[3]]


def test_a_bisection_skips_commits_that_fail(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    made = again.commits
    again.broken = {made[4], made[3]}
    assert call(survey, "--bisect")[0] == 0
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == made[3:6]
    assert len(again.runs) < 10


@pytest.mark.parametrize("is_sampled", [False, True])
def test_an_interrupted_round_is_measured_from_the_start(call, tmp_path, monkeypatch, is_sampled):
    """Its launches are short, and none of its commits is taken for one that cannot be measured."""
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    made = again.commits
    measure = again.measure

    def interrupted(folder: Path, asked, launches: int) -> None:
        measure(folder, asked, launches)
        middle = next(one for one in run_sides.read(folder) if one.revision.commit == made[4])
        if not is_sampled:
            (middle.folder / "samples.jsonl").write_text("", encoding="utf-8")
        again.measure = measure
        raise KeyboardInterrupt

    again.measure = interrupted
    assert call(survey, "--bisect")[0] == 130
    (part,) = (tmp_path / "results/history/reruns").glob("search-*/0*")
    assert part.name == "001.part"
    assert call(survey, "--bisect")[0] == 1
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [made[3]]
    assert again.runs[0] == again.runs[1]


def test_rounds_are_quick_and_know_the_smallest_difference(call, tmp_path, monkeypatch):
    """A round without --budget ends even where a call takes seconds, and its launches are like those of the survey."""
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    call(survey, "--bisect", "--min-effect", "2%")
    assert again.commands
    for command in again.commands:
        assert {"--quick", "--until", "--launches"} <= set(command)
        assert command[command.index("--min-effect") + 1] == "0.02"


def test_what_a_search_measured_is_used_by_the_search_of_a_longer_history(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 17)
    assert call(survey, "--bisect")[0] == 1
    many = len(again.runs)
    made = again.commits
    made.append(repositories.commit(tmp_path, {"work.py": "N = 99"}, "99", day=1))
    again.measure(tmp_path / "last", [made[-2], made[-1]], launches=4)
    assert call(survey, tmp_path / "last", "--bisect")[0] == 0
    assert [one["left"] for one in read_part(tmp_path, "bisected")] == [[made[3]]]
    assert len(again.runs) <= many + 1


def test_a_folder_that_is_named_twice_counts_once(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 17)
    assert call(survey, "--bisect", "--out", "once")[0] == 1
    runs = list(again.runs)
    again.runs.clear()
    (tmp_path / "link").symlink_to(survey)
    assert call(survey, survey, "link", "--bisect", "--out", "twice")[0] == 1
    assert again.runs == runs


def test_changes_that_are_not_committed_are_no_end_of_a_search(call, tmp_path, monkeypatch):
    """They may be others by now."""
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    sides = run_sides.read(survey)
    dirty = run_sides.Revision("WORKTREE", "f" * 40, "2026-01-02T12:00:00+00:00", "not committed", dirty=True)
    named = run_sides.name_sides(survey, [*sides[:-1], run_sides.Side("", revision=dirty), sides[-1]])
    last = named[-2]
    write_run(
        tmp_path / "other", list(KEYS), factors={CHANGED: 2.0}, launches=4, revision=run_sides.stored_in_run(dirty)
    )
    shutil.move(sides[-1].folder, named[-1].folder)
    shutil.move(tmp_path / "other", last.folder)
    run_sides.write(survey, named)
    code, _, said = call(survey, "--bisect", "--confirm")
    assert code == 1, said
    assert all("f" * 40 not in run and "WORKTREE" not in run for run in again.runs)
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [again.commits[3]]


def test_what_only_results_name_is_neither_started_nor_installed(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 9)
    sides = [replace(one, python="./python3.12") for one in run_sides.read(survey)]
    named = run_sides.name_sides(survey, sides)
    for before, after in zip(run_sides.read(survey), named, strict=True):
        content = json.loads((before.folder / "run.json").read_text(encoding="utf-8"))
        settings = {**content["settings"], "python": "./python3.12"}
        keys = list(KEYS)
        place = again.commits.index(before.revision.commit)
        factors = {CHANGED: 1.3} if place >= 3 else {}
        write_run(after.folder, keys, factors=factors, launches=4, settings=settings, revision=content["revision"])
    run_sides.write(survey, named)
    code, _, said = call(survey, "--bisect")
    assert (code, again.runs) == (0, [])
    assert "--python" in said


def test_a_re_run_has_more_time_for_more_cases(call, monkeypatch, versions):
    again = Reruns(monkeypatch, 1.2)
    call(versions, "--confirm")
    (command,) = again.commands
    assert command[command.index("--budget") + 1] == f"{history.RERUN_SECONDS + history.CASE_SECONDS:g}s"


def test_a_budget_is_for_the_whole_search_which_the_same_command_continues(call, tmp_path, monkeypatch):
    """Each commit takes a minute, so that two rounds of three commits end within 7 minutes and a third does not."""
    again, survey = surveyed(tmp_path, monkeypatch, 17)
    assert call(survey, "--bisect", "--budget", "7m")[0] == 0
    assert again.now <= 7 * 60
    assert again.budgets == ["420s", "240s"]
    (found,) = read_part(tmp_path, "bisected")
    assert not found["is_finished"]
    assert len(found["left"]) > 1
    many = len(again.runs)
    while call(survey, "--bisect", "--budget", "7m")[0] == 0:
        assert len(again.runs) > many, "at least one round"
        many = len(again.runs)
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [again.commits[3]]
    assert len(set(again.runs)) == len(again.runs)


def test_a_search_ends_after_a_number_of_rounds_and_the_next_command_continues(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 17)
    monkeypatch.setattr(history, "MOST_ROUNDS", 1)
    for rounds in (1, 2):
        assert call(survey, "--bisect")[0] == 0
        assert len(again.runs) == rounds
    monkeypatch.setattr(history, "MOST_ROUNDS", 50)
    assert call(survey, "--bisect")[0] == 1
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [again.commits[3]]


def test_an_interrupted_search_keeps_its_rounds(call, tmp_path, monkeypatch):
    again, survey = surveyed(tmp_path, monkeypatch, 17)
    monkeypatch.setattr(history, "MOST_ROUNDS", 1)
    call(survey, "--bisect")
    again.is_interrupted = True
    code, _, said = call(survey, "--bisect")
    assert code == 130
    assert "results/history/reruns" in said
    again.is_interrupted = False
    monkeypatch.setattr(history, "MOST_ROUNDS", 50)
    assert call(survey, "--bisect")[0] == 1
    (found,) = read_part(tmp_path, "bisected")
    assert found["left"] == [again.commits[3]]
    assert len(set(again.runs)) == len(again.runs), "no round is measured twice"
