"""Arguments that no tensor holds as they are: what a body gets is what the example was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyopbench.model.errors import BadInput
from pyopbench.ops.own.arguments import arguments_of, take_arrays
from pyopbench.ports.arrays import as_given


@pytest.mark.parametrize("value", ["größer", "", [1, 2, 3], [[1.5, 2], [3, 4]], ["a", "few"], [], 3.5])
def test_a_body_gets_what_the_example_was(value: Any) -> None:
    arguments = arguments_of([value], as_python=True)
    spread = arguments.spread([value])
    assert [one.dtype.kind in "ifO" for one in spread] == [True]
    (got,) = arguments.gather(as_given(spread))
    assert (got, type(got)) == (value, np.float64 if isinstance(value, float) else type(value))


def test_text_of_an_array_is_decoded_also_where_eager_mode_hands_an_array() -> None:
    words = np.array(["a", "few"])
    arguments = arguments_of(["ab", words], as_python=True)
    one, many = arguments.gather([np.array(b"ab", object), np.array([b"a", b"few"], object)])
    assert one == "ab"
    np.testing.assert_array_equal(many, words)


def test_bytes_and_arrays_stay_as_they_are() -> None:
    arguments = arguments_of([b"ab", np.ones(2)], as_python=True)
    assert arguments.are_plain
    assert arguments_of(["ab", [1, 2]]).are_plain

    def body(text: Any, x: Any) -> Any:
        return x

    assert take_arrays(body, arguments) is body


def test_what_no_tensor_holds_is_refused() -> None:
    for value in (None, {"a": 1}, len, [[1, 2], [], [3]], [["the", "cat"], ["sat"]]):
        with pytest.raises(BadInput) as refused:
            arguments_of([value]).spread([value])
        assert refused.value.hint
