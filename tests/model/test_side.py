"""Environments are read from what options name, combined, and found again in the settings of a run."""

from __future__ import annotations

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.model.side import HERE, combine_environments, read_packages


def test_packages_are_named_as_the_index_does_and_in_order() -> None:
    assert read_packages("scipy==1.13.1, NumPy==1.26.4") == read_packages("numpy==1.26.4,scipy==1.13.1")
    assert read_packages("Typing_Extensions==4.16.0") == ("typing-extensions==4.16.0",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "numpy",
        "numpy>=1.26",
        "numpy==1.26,",
        "numpy==1.26.4 --index-url x",
        "tensorflow==2.21.0",
        "a==1,A==2",
        "-r==1",
    ],
)
def test_what_is_no_version_of_a_package_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_packages(text)
    assert refused.value.received == f"--with {text}"


def test_every_combination_is_a_side() -> None:
    found = combine_environments(["2.20.0", "2.21.0"], ["numpy==2.2.6", "numpy==1.26.4"], ["3.12"])
    assert [(one.tf, one.packages, one.python) for one in found] == [
        ("2.20.0", ("numpy==2.2.6",), "3.12"),
        ("2.20.0", ("numpy==1.26.4",), "3.12"),
        ("2.21.0", ("numpy==2.2.6",), "3.12"),
        ("2.21.0", ("numpy==1.26.4",), "3.12"),
    ]
    assert combine_environments() == [HERE]
