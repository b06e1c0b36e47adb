"""Revisions of a repository: commits by name, and the working tree as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.engine import git as git_module
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import NO_OWN_OPS, Target, own_ops
from repositories import commit, git, repository


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a repository and its commits, five in a row."""
    folder = repository(tmp_path / "repository")
    return folder, [commit(folder, {"op.py": f"# {n}\n"}, f"change {n}", day=n) for n in range(1, 6)]


def test_a_revision_is_what_git_calls_so_with_date_and_subject(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    git(folder, "branch", "other", commits[1])
    found = git_module.resolve(folder, ["other", "HEAD~1", commits[0][:12]])
    assert [one.asked for one in found] == ["other", "HEAD~1", commits[0][:12]]
    assert [one.commit for one in found] == [commits[1], commits[3], commits[0]]
    assert (found[0].date[:10], found[0].subject) == ("2026-01-02", "change 2")


def test_the_commit_of_an_own_op_is_that_of_the_repository_that_has_its_file(
    made: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, commits = made
    (folder / ".venv").mkdir()
    (folder / ".venv" / "installed.py").write_text("", encoding="utf-8")
    (tmp_path / "elsewhere.py").write_text("", encoding="utf-8")
    places = {"op": folder / "op.py", "installed": folder / ".venv/installed.py", "no": tmp_path / "elsewhere.py"}
    own = own_ops(*(Target(name, str(place)) for name, place in places.items()))
    found = git_module.find_checked_out_commits(own)
    assert set(found) == {"op"}
    assert (found["op"].commit, found["op"].subject, found["op"].dirty) == (commits[-1], "change 5", False)
    (folder / "op.py").write_text("# other\n", encoding="utf-8")
    assert git_module.find_checked_out_commits(own)["op"].dirty


@pytest.mark.parametrize("text", ["no such", "", "--upload-pack=x", "HEAD:op.py", "main..HEAD", "a\0b", "\ud800"])
def test_what_is_no_commit_is_refused(made: tuple[Path, list[str]], text: str) -> None:
    with pytest.raises(BadInput):
        git_module.resolve(made[0], [text, "HEAD"])


def test_one_revision_alone_is_refused(made: tuple[Path, list[str]]) -> None:
    with pytest.raises(BadInput):
        git_module.resolve(made[0], ["HEAD"])


def test_the_repository_is_that_of_the_file_of_the_op(made: tuple[Path, list[str]]) -> None:
    own = own_ops(Target("op", str(made[0] / "op.py")))
    assert git_module.repository_of(["op"], own) == made[0]


def test_the_repository_of_a_module_is_found_without_importing_it(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (made[0] / "package").mkdir()
    (made[0] / "package" / "__init__.py").write_text("raise AssertionError\n", encoding="utf-8")
    monkeypatch.chdir(made[0])
    assert git_module.repository_of(["op"], own_ops(Target("op", "package.part", "body", ("1",)))) == made[0]
    with pytest.raises(BadInput) as refused:
        git_module.repository_of(["op"], own_ops(Target("op", "nowhere_at_all.part", "body", ("1",))))
    assert refused.value.received == "nowhere_at_all.part:body"


def test_ops_in_no_repository_or_in_two_are_refused(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    for folder, said in ((tmp_path, "no repository"), (other, other)):
        (folder / "outside.py").write_text("", encoding="utf-8")
        own = own_ops(Target("op", str(made[0] / "op.py")), Target("outside", str(folder / "outside.py")))
        with pytest.raises(BadInput) as refused:
            git_module.repository_of(["op", "outside"], own)
        assert refused.value.received == f"op in {made[0]} and outside in {said}"


def test_own_ops_of_the_package_have_its_checkout_for_a_repository(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is installed beside other packages there is none, though that folder may lie in a repository."""
    package = made[0] / "pyopbench"
    (package / "ops" / "builtin").mkdir(parents=True)
    for name in ("__init__.py", "ops/builtin/sinh.py"):
        (package / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(git_module, "PACKAGE", package)
    monkeypatch.setattr(git_module, "find", lambda kind: {"sinh": package / "ops" / "builtin" / "sinh.py"})
    with pytest.raises(BadInput) as refused:
        git_module.repository_of(["sinh"], NO_OWN_OPS)
    assert refused.value.received == "pyopbench in no repository"
    git(made[0], "add", "pyopbench")
    assert git_module.repository_of(["sinh"], NO_OWN_OPS) == made[0]
