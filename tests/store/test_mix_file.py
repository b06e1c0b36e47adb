"""The file of a mix: what is written is read back, and a bad line is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.store.mix_file import read_mix, write_mix


def test_what_is_written_is_read_back_in_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    write_mix(path, {1000: 3, 10: 0.5})
    assert list(read_mix(path).items()) == [(1000, 3.0), (10, 0.5)]


def test_what_is_written_is_plain_csv(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    write_mix(path, {1000: 3})
    assert path.read_bytes() == b"size,weight\n1000,3\n"


def test_a_mix_is_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text("\ufeffsize, weight\r\n1000,3\n\n10 , 0.5\n1e6,2\n", encoding="utf-8")
    assert read_mix(path) == {1000: 3.0, 10: 0.5, 1_000_000: 2.0}


def test_a_shape_counts_its_elements_and_a_dtype_parts_the_calls(tmp_path: Path) -> None:
    """By hand: 4 x 5 x 3 is 60."""
    path = tmp_path / "mix.csv"
    path.write_text("shape,dtype,weight\n4x5x3,uint8,2\n500,float32,1\n60,float32,3\n", encoding="utf-8")
    calls = read_mix(path)
    assert calls == {("uint8", 60): 2.0, ("float32", 500): 1.0, ("float32", 60): 3.0}


@pytest.mark.parametrize(
    "content",
    [
        "shape,weight\n4x,1\n",
        "shape,weight\n4x0,1\n",
        "shape,dtype,weight\n4,1\n",
        "shape,dtype,weight\n4,float32,1\n2x2,float32,1\n",
        "",
        "\n\n",
        "weight,size\n1,2\n",
        "10,1\n20,2\n",
        "size,weight\n",
        "size,weight\n10,1\n\n20\n",
        "size,weight\n10,1,2\n",
        "size,weight\nten,1\n",
        "size,weight\n1e-3,1\n",
        "size,weight\n10,1\n1e1,1\n",
        "size,weight\n0,1\n",
        "size,weight\n-4,1\n",
        "size,weight\n10,0\n",
        "size,weight\n10,-1\n",
        "size,weight\n10,nan\n",
        "size,weight\n10,inf\n",
        "size,weight\n10,1\n20,1\n10,1\n",
    ],
)
def test_a_bad_mix_is_refused_with_the_name_of_the_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text(content)
    with pytest.raises(BadInput) as refused:
        read_mix(path)
    assert str(path) in refused.value.message


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        read_mix(tmp_path / "absent.csv")
    assert refused.value.received.filename == str(tmp_path / "absent.csv")  # type: ignore[attr-defined]


def test_a_cell_that_python_does_not_read_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text(f"size,weight\n{'1' * 200_000},1\n", encoding="utf-8")
    with pytest.raises(BadInput):
        read_mix(path)
