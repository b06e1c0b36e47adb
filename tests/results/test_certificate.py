"""What a certificate promises, and that the one that fits a machine is found again, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certificates import ENVIRONMENT, as_stored, certificate
from pyopbench.core.errors import BadInput
from pyopbench.results.certificate import (
    MayBeToldApart,
    Miss,
    NoIdenticalPairs,
    Overhead,
    Pairs,
    SlowdownMissed,
    ToldApart,
    TooCostly,
    find,
    from_dict,
    path_for,
)

MANY_APART = Pairs(0, 1_000, 6, 5, 900, 89, 1.0, 0.018)
FEW_APART = Pairs(0, 200, 1, 1, 198, 0, 1.0, 0.031)
FIVE = Pairs(5, 100, 0, 94, 0, 6, 1.05, 0.9)
TEN = Pairs(10, 100, 0, 98, 2, 0, 1.1, 0.9)


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / name))
    return tmp_path


def keep(content: str) -> Path:
    path = path_for(ENVIRONMENT)
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_what_is_stored_is_read_back() -> None:
    assert from_dict(as_stored(certificate())) == certificate()


def test_a_good_certificate_misses_nothing() -> None:
    assert certificate().misses() == ()


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"identical": MANY_APART}, ToldApart(MANY_APART, 0.01)),
        ({"identical": FEW_APART}, MayBeToldApart(FEW_APART, 0.02)),
        ({"identical": Pairs(0, 0, 0, 0, 0, 0, None, 1.0)}, NoIdenticalPairs()),
        ({"injected": (FIVE,)}, SlowdownMissed(FIVE, 0.95)),
        ({"injected": (TEN,)}, SlowdownMissed(TEN, 0.99)),
        ({"overheads": (Overhead(20e-6, 20.03e-6),)}, TooCostly(Overhead(20e-6, 20.03e-6), 0.001)),
        ({"overheads": (Overhead(20e-6, 19.97e-6),)}, TooCostly(Overhead(20e-6, 19.97e-6), 0.001)),
    ],
)
def test_what_is_not_as_good_as_promised_is_named(changes: dict[str, Any], missed: Miss) -> None:
    assert certificate(**changes).misses() == (missed,)


def test_nothing_is_promised_for_slowdowns_of_the_minimum_effect_itself() -> None:
    assert certificate(injected=(Pairs(3, 100, 1, 0, 50, 49, 1.03, 0.0),)).misses() == ()


def test_a_quick_certificate_has_too_few_pairs_to_be_held_to_the_bound() -> None:
    few = Pairs(0, 108, 0, 1, 107, 0, 1.0, 0.043)
    assert certificate(identical=few, quick=True).misses() == ()
    assert len(certificate(identical=few).misses()) == 1


def test_the_certificate_of_this_machine_is_found_for_every_patch_of_its_python() -> None:
    keep(certificate().as_json())
    found = find({**ENVIRONMENT, "python": "3.11.9", "commit": "another", "memory_bytes": 1})
    assert found == as_stored(certificate())


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


def test_a_certificate_of_another_schema_is_none() -> None:
    keep(certificate().as_json().replace('"schema": 1', '"schema": 2'))
    assert find(ENVIRONMENT) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", certificate().as_json().replace("identical", "alike")])
def test_a_damaged_certificate_is_refused_by_the_name_of_its_file(content: str) -> None:
    path = keep(content)
    with pytest.raises(BadInput) as refused:
        find(ENVIRONMENT)
    assert str(path) in str(refused.value.received)


def test_shares_of_no_pairs_are_zero() -> None:
    assert replace(certificate().identical, pairs=0, faster=0, slower=0).share == 0.0
