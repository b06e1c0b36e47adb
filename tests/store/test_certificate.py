"""The certificate that fits a machine is found again, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certificates import ENVIRONMENT, certificate
from pyopbench.model.errors import BadInput
from pyopbench.store import integrity
from pyopbench.store.certificate import Pairs, certified_run_effect, find, path_for


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / name))
    return tmp_path


def keep(content: str) -> Path:
    path = path_for(ENVIRONMENT)
    path.parent.mkdir(parents=True)
    path.write_bytes(integrity.sealed(content))
    return path


def test_the_certificate_of_this_machine_is_found_for_every_patch_of_its_python() -> None:
    keep(certificate().as_json())
    found = find({**ENVIRONMENT, "python": "3.11.9", "commit": "another", "memory_bytes": 1})
    assert found == certificate()


@pytest.mark.parametrize(
    "change",
    [{"cpu": "another"}, {"cores": 4}, {"tensorflow": "2.20.0"}, {"numpy": "2.3.0"}, {"python": "3.12.7"}],
    ids=lambda change: next(iter(change)),
)
def test_a_certificate_of_another_machine_or_software_is_none(change: dict[str, Any]) -> None:
    keep(certificate().as_json())
    assert find({**ENVIRONMENT, **change}) is None


def test_names_that_differ_only_in_what_a_file_name_cannot_hold_are_told_apart() -> None:
    keep(certificate(environment={**ENVIRONMENT, "cpu": "made/up"}).as_json())
    assert path_for({**ENVIRONMENT, "cpu": "made/up"}) == path_for(ENVIRONMENT)
    assert find(ENVIRONMENT) is None


def test_without_any_certificate_there_is_none(data_folder: Path) -> None:
    assert find(ENVIRONMENT) is None
    (data_folder / "pyopbench").touch()
    assert find(ENVIRONMENT) is None


def test_what_intervals_allow_for_is_certified_where_the_main_job_was_repeated() -> None:
    assert certified_run_effect(certificate()) == certificate().run_effect.allowed  # type: ignore[union-attr]
    assert certified_run_effect(certificate(run_effect=None)) is None
    assert certified_run_effect(None) is None


def test_a_certificate_without_identical_pairs_is_none_and_is_refused() -> None:
    none = Pairs(0, 0, 0, 0, 0, 0, None, 1.0, 0.0)
    path = keep(certificate(identical=none).as_json())
    with pytest.raises(BadInput) as refused:
        find(ENVIRONMENT)
    assert refused.value.received == f"{path}: a certificate without A/A controls"


@pytest.mark.parametrize("content", ["", "[]", "{}", certificate().as_json().replace("identical", "alike")])
def test_a_damaged_certificate_is_refused_by_the_name_of_its_file(content: str) -> None:
    path = keep(content)
    with pytest.raises(BadInput) as refused:
        find(ENVIRONMENT)
    assert str(path) in str(refused.value.received)


def test_shares_of_no_pairs_are_zero() -> None:
    none = replace(certificate().identical, pairs=0, faster=0, slower=0, equivalent=0)
    assert (none.share, none.equivalent_share) == (0.0, 0.0)
