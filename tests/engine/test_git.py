"""Worktrees of revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyopbench.engine import git as git_module
from pyopbench.engine import revisions
from pyopbench.model import cache_folder
from pyopbench.model.checkout import Checkout
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.store.run_json import WORKTREE, Revision
from repositories import commit, git, repository


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """Return a repository and its two commits; the cache is the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = repository(tmp_path / "project")
    return folder, [commit(folder, {"op.py": f"# {n}\n"}) for n in range(2)]


def revision(commit: str) -> Revision:
    return Revision("", commit, "", "")


def checked_out(folder: Path, commit: str) -> Checkout:
    """Return the checkout of a commit, which nobody uses."""
    with git_module.checkout_of(folder, revision(commit)) as checkout:
        return checkout


def worktrees(folder: Path) -> int:
    return git(folder, "worktree", "list").count("\n")


def test_a_checkout_has_the_files_of_its_commit_and_the_name_of_the_repository(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    found = [checked_out(folder, one) for one in commits]
    assert [(one.folder / "op.py").read_text(encoding="utf-8") for one in found] == ["# 0\n", "# 1\n"]
    assert {one.folder.name for one in found} == {"project"}, "a package may be named by it"
    assert all(one.folder.is_relative_to(cache_folder.folder_of(git_module.FOLDER)) for one in found)
    assert worktrees(folder) == 2


def program(path: Path, *lines: str) -> Path:
    """Write a program of a few lines of shell."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def signed(folder: Path, commit: str) -> str:
    """Return a commit like another one, with a signature that nobody made."""
    headers, _, message = git(folder, "cat-file", "commit", commit).partition("\n\n")
    lines = (headers, "gpgsig -----BEGIN PGP SIGNATURE-----", " -----END PGP SIGNATURE-----", "", message, "")
    source = folder / ".git" / "signed"
    source.write_text("\n".join(lines), encoding="utf-8")
    return git(folder, "hash-object", "-t", "commit", "-w", str(source))


def test_hooks_of_the_repository_are_not_run(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    program(made[0] / ".git" / "hooks" / "post-checkout", f"touch {tmp_path}/ran")
    checked_out(*(made[0], made[1][0]))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["core.fsmonitor", "gpg.program"])
def test_programs_in_the_settings_of_the_repository_are_not_run(
    made: tuple[Path, list[str]], tmp_path: Path, name: str
) -> None:
    """Neither what tells git of changed files nor what checks signatures has a say in what is measured."""
    folder, commits = made
    by_hand = signed(folder, commits[0])
    git(folder, "config", name, str(program(tmp_path / "marking", f"touch {tmp_path}/ran", "exit 1")))
    git(folder, "config", "log.showSignature", "true")
    (folder / "op.py").write_text("# changed\n", encoding="utf-8")
    found = revisions.named(folder, [by_hand, revisions.WORKTREE])
    for revision in found:
        checked_out(folder, revision.commit)
        assert git_module.is_whole(folder, revision.commit)
    assert not (tmp_path / "ran").exists()
    git(folder, "status", "--porcelain")
    git(folder, "show", by_hand)
    assert (tmp_path / "ran").exists(), "git by hand runs it"


def test_filters_of_the_repository_are_run(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Without them a worktree would have pointers in place of the files that Git LFS keeps."""
    folder, _ = made
    with_filter = commit(folder, {".gitattributes": "*.py filter=large\n"})
    git(folder, "config", "filter.large.smudge", str(program(tmp_path / "smudge", "echo '# smudged'")))
    git(folder, "config", "filter.large.clean", str(program(tmp_path / "clean", "echo '# 1'")))
    found = checked_out(folder, with_filter).folder
    assert (found / "op.py").read_text(encoding="utf-8") == "# smudged\n"


def test_a_checkout_is_used_again_unless_it_was_changed(made: tuple[Path, list[str]]) -> None:
    folder, (first, _) = made
    found = checked_out(folder, first).folder
    (found / "untracked").touch()
    checked_out(folder, first)
    assert (found / "untracked").exists()
    (found / "op.py").write_text("# changed\n", encoding="utf-8")
    checked_out(folder, first)
    assert (found / "op.py").read_text(encoding="utf-8") == "# 0\n"
    assert not (found / "untracked").exists()


def test_what_a_killed_process_left_half_made_is_made_again(made: tuple[Path, list[str]]) -> None:
    folder, (first, _) = made
    half = git_module.folder_of(folder, first)
    half.mkdir(parents=True)
    for above in list(half.parents)[:4]:
        above.chmod(0o700)
    (half / "half").touch()
    assert (checked_out(folder, first).folder / "op.py").exists()
    assert not (half / "half").exists()
    git(folder, "worktree", "remove", "--force", str(half))
    checked_out(folder, first)
    assert worktrees(folder) == 1


def test_what_is_done_with_is_taken_away_and_what_is_in_use_stays(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    found = [checked_out(folder, one) for one in commits]
    with git_module.checkout_of(folder, revision(commits[0])), git_module.checkout_of(folder, revision(commits[0])):
        git_module.give_back(folder, map(revision, commits))
        assert [one.folder.exists() for one in found] == [True, False]
    git_module.give_back(folder, map(revision, commits))
    assert not found[0].folder.exists()
    assert worktrees(folder) == 0


def test_what_another_process_takes_away_before_it_is_used_is_made_again(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (first, _) = made
    make, times = git_module._make, []

    def make_and_lose(*arguments: Any) -> None:
        make(*arguments)
        times.append(1)
        if len(times) == 1:
            git_module._remove(folder, git_module.folder_of(folder, first))

    monkeypatch.setattr(git_module, "_make", make_and_lose)
    with git_module.checkout_of(folder, revision(first)) as checkout:
        assert (checkout.folder / "op.py").exists()


def test_the_working_tree_is_itself_and_never_taken_away(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    (tree,) = [one for one in revisions.named(folder, [WORKTREE, "HEAD"]) if one.is_worktree]
    assert (tree.commit, tree.dirty) == (commits[-1], False)
    with git_module.checkout_of(folder, tree) as checkout:
        assert checkout.folder == checkout.repository == folder
        assert checkout.moved(folder / "op.py") == folder / "op.py"
    git_module.give_back(folder, [tree])
    assert (folder / "op.py").exists()


def test_of_what_interrupted_runs_left_the_last_are_kept(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = made
    monkeypatch.setattr(git_module, "MOST_KEPT", 1)
    found = [checked_out(folder, one) for one in (*commits, commit(folder, {"op.py": "# 2\n"}))]
    git_module.give_back(folder, [revision(git(folder, "rev-parse", "HEAD"))])
    assert sum(one.folder.exists() for one in found) == 1


def test_commits_without_a_checkout_are_missing_and_those_that_are_gone_are_an_error(
    made: tuple[Path, list[str]],
) -> None:
    folder, commits = made
    checked_out(folder, commits[0])
    assert git_module.missing_commits(folder, [*commits, commits[1]]) == [commits[1]]
    with pytest.raises(BadInput) as refused:
        git_module.missing_commits(folder, ["0" * 40])
    assert refused.value.received == f"{'0' * 40} in {folder}"


def test_pyopbench_is_of_the_revision_in_its_own_repository_only(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (first, _) = made
    assert (checked_out(folder, first).package / "pyopbench").resolve() == PACKAGE
    for inside, package in ((folder / "pyopbench", folder), (folder / "venv" / "site-packages" / "pyopbench", None)):
        inside.mkdir(parents=True)
        monkeypatch.setattr(git_module, "PACKAGE", inside)
        found = checked_out(folder, first)
        assert found.package == package or (package is None and found.package != inside.parent)
    assert checked_out(folder, first).moved(folder) == found.folder
