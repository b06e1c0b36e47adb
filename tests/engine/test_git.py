"""Worktrees of revisions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyopbench.engine import git as git_module
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.store.types import WORKTREE, Revision
from repositories import commit, git, repository


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """Return a repository and its two commits; the cache is the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = repository(tmp_path / "project")
    return folder, [commit(folder, {"op.py": f"# {n}\n"}) for n in range(2)]


def revision(commit: str) -> Revision:
    return Revision("", commit, "", "")


def checked_out(folder: Path, commit: str, file: str = "op.py") -> str:
    """Return the text of a file in the checkout of a commit."""
    with git_module.checkout_of(folder, revision(commit)) as checkout:
        return (checkout.folder / file).read_text(encoding="utf-8")


def worktrees(folder: Path) -> int:
    return git(folder, "worktree", "list").count("\n")


def test_a_checkout_has_the_files_of_its_commit_and_the_name_of_the_repository(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    assert [checked_out(folder, one) for one in commits] == ["# 0\n", "# 1\n"]
    with git_module.checkout_of(folder, revision(commits[0])) as checkout:
        assert checkout.folder.name == "project", "a package may be named by it"


def program(path: Path, *lines: str) -> Path:
    """Write a program of a few lines of shell."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def test_hooks_of_the_repository_are_not_run(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    program(made[0] / ".git" / "hooks" / "post-checkout", f"touch {tmp_path}/ran")
    checked_out(made[0], made[1][0])
    assert not (tmp_path / "ran").exists()


def test_filters_of_the_repository_are_run(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    """Without them a worktree would have pointers in place of the files that Git LFS keeps."""
    folder, _ = made
    with_filter = commit(folder, {".gitattributes": "*.py filter=large\n"})
    git(folder, "config", "filter.large.smudge", str(program(tmp_path / "smudge", "echo '# smudged'")))
    git(folder, "config", "filter.large.clean", str(program(tmp_path / "clean", "echo '# 1'")))
    assert checked_out(folder, with_filter) == "# smudged\n"


def test_each_use_has_a_worktree_of_its_own_which_is_removed_at_its_end(made: tuple[Path, list[str]]) -> None:
    """So that no run that ends removes the files that another one is using."""
    folder, (first, _) = made
    with git_module.checkout_of(folder, revision(first)) as one:
        with git_module.checkout_of(folder, revision(first)) as other:
            assert one.folder != other.folder
        assert not other.folder.exists()
        assert (one.folder / "op.py").exists()
        assert worktrees(folder) == 1
        assert "\nlocked pyopbench measures it" in git(folder, "worktree", "list", "--porcelain"), "and kept by git gc"
    assert worktrees(folder) == 0


def test_a_worktree_that_a_killed_run_has_left_is_forgotten_when_its_folder_is_gone(
    made: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, (first, second) = made
    for name, reason in (("gone", git_module.LOCKED), ("users", "of the user's")):
        git(folder, "worktree", "add", "--quiet", "--detach", str(tmp_path / name), first)
        git(folder, "worktree", "lock", "--reason", reason, str(tmp_path / name))
        shutil.rmtree(tmp_path / name)
    checked_out(folder, second)
    assert "gone" not in git(folder, "worktree", "list")
    assert "users" in git(folder, "worktree", "list"), "a lock of somebody else's stays"


def test_a_commit_that_is_gone_is_an_error(made: tuple[Path, list[str]]) -> None:
    with pytest.raises(BadInput), git_module.checkout_of(made[0], revision("0" * 40)):
        pass


def test_the_working_tree_is_itself_and_never_taken_away(made: tuple[Path, list[str]]) -> None:
    folder, commits = made
    (tree,) = [one for one in git_module.resolve(folder, [WORKTREE, "HEAD"]) if one.is_worktree]
    assert (tree.commit, tree.dirty) == (commits[-1], False)
    with git_module.checkout_of(folder, tree) as checkout:
        assert checkout.folder == checkout.repository == folder
        assert checkout.moved(folder / "op.py") == folder / "op.py"
    assert (folder / "op.py").exists()


def test_pyopbench_is_of_the_revision_in_its_own_repository_only(
    made: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (first, _) = made
    with git_module.checkout_of(folder, revision(first)) as checkout:
        assert (checkout.package / "pyopbench").resolve() == PACKAGE
    for inside, is_of_revision in ((folder / "pyopbench", True), (folder / "site-packages" / "pyopbench", False)):
        inside.mkdir(parents=True)
        monkeypatch.setattr(git_module, "PACKAGE", inside)
        with git_module.checkout_of(folder, revision(first)) as checkout:
            assert (checkout.package == folder) == is_of_revision
            assert checkout.moved(folder) == checkout.folder
