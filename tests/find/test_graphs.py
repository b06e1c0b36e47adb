"""Callback nodes in stored graphs, in files that TensorFlow's own protocol buffers have written."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

from pyopbench.find.graphs import GraphSite, find_nodes, find_nodes_in_text
from pyopbench.model.errors import BadInput

EXPECTED = [
    GraphSite("a.pb", "one", "", "PyFunc", "py_func", "pyfunc_3"),
    GraphSite("a.pb", "two", "inside", "EagerPyFunc", "py_function", "pyfunc_4"),
    GraphSite("a.pb", "three", "inside", "PyFuncStateless", "py_func", "pyfunc_5"),
]


def fill(graph: Any) -> Any:
    """Add three callbacks and what is none to a graph."""
    graph.versions.producer = 1
    graph.node.add(name="constant", op="Const").attr["value"].tensor.tensor_content = b"PyFunc" * 100
    for where, name, op, token in ((None, "one", "PyFunc", "pyfunc_3"), ("inside", "two", "EagerPyFunc", "pyfunc_4")):
        function = graph.library.function.add() if where else None
        if function is not None:
            function.signature.name = where
        node = (function.node_def if function is not None else graph.node).add(name=name, op=op, input=["constant"])
        node.attr["token"].s = token.encode()
        node.attr["Tout"].list.type.append(1)
    last = graph.library.function[0].node_def.add(name="three", op="PyFuncStateless")
    last.attr["token"].s = b"pyfunc_5"
    return graph


def test_a_graph_def_is_searched_with_its_functions() -> None:
    assert find_nodes(fill(graph_pb2.GraphDef()).SerializeToString(), "a.pb") == EXPECTED


def test_a_saved_model_is_searched_in_all_its_graphs() -> None:
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    fill(model.meta_graphs.add().graph_def)
    fill(model.meta_graphs.add().graph_def)
    assert find_nodes(model.SerializeToString(), "a.pb") == EXPECTED * 2


def test_the_text_of_either_gives_the_same() -> None:
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    fill(model.meta_graphs.add().graph_def)
    assert find_nodes_in_text(text_format.MessageToString(model), "a.pb") == EXPECTED
    assert find_nodes_in_text(text_format.MessageToString(fill(graph_pb2.GraphDef())), "a.pb") == EXPECTED


def test_a_graph_without_callbacks_has_none() -> None:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="PyFunc", op="Const")
    assert find_nodes(graph.SerializeToString(), "a.pb") == []


@pytest.mark.parametrize("cut", [1, 10, 50])
def test_a_file_that_is_cut_off_says_so(cut: int) -> None:
    whole = fill(graph_pb2.GraphDef()).SerializeToString()
    with pytest.raises(BadInput) as refused:
        find_nodes(whole[:-cut], "a.pb")
    assert refused.value.received == "a.pb"


@pytest.mark.parametrize("content", [b"\xff" * 40, b"\x0f\x01", b"\x3a\x00", b"\x08"])
def test_what_is_no_graph_says_so(content: bytes) -> None:
    with pytest.raises(BadInput) as refused:
        find_nodes(content, "a.pb")
    assert refused.value.received == "a.pb"


def test_text_whose_braces_do_not_match_says_so() -> None:
    with pytest.raises(BadInput) as refused:
        find_nodes_in_text('node { name: "a"', "a.pbtxt")
    assert refused.value.received == "a.pbtxt"
