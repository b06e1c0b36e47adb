"""Finds callback nodes in SavedModels and GraphDefs, binary or text, without TensorFlow.

Of a graph only names, ops and tokens are wanted, and Protocol Buffers' wire format skips all else by its length. So a
file is read here in milliseconds, where a TensorFlow that has to be started takes seconds, and a scan works where none
is installed. Wire format: https://protobuf.dev/programming-guides/encoding; numbers of fields:
tensorflow/core/protobuf/saved_model.proto, meta_graph.proto and tensorflow/core/framework/{graph,function,node_def,
op_def,attr_value}.proto. They are part of the format of stored models and do not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pyopbench.model.errors import BadInput

OPS = {"PyFunc": "py_func", "PyFuncStateless": "py_func", "EagerPyFunc": "py_function"}
"""The ops of callbacks and their kind; numpy_function and py_func become the same op."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
LONGEST_VARINT = 10

SAVED_MODEL_FIELDS = {1: VARINT, 2: BYTES}
GRAPH_FIELDS = {1: BYTES, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}

Value: TypeAlias = "int | memoryview"


@dataclass(frozen=True)
class GraphSite:
    """A callback among the nodes of a stored graph.

    Attributes:
        file: as it was given or found.
        node: its name.
        function: the function of the graph's library that holds it; empty for the graph itself.
        op: `PyFunc`, `PyFuncStateless` or `EagerPyFunc`.
        kind: `py_func` (numpy_function too) or `py_function`.
        token: the key under which the process that made the graph had the function.
    """

    file: str
    node: str
    function: str
    op: str
    kind: str
    token: str


def find_nodes(content: bytes | memoryview, file: str) -> list[GraphSite]:
    """Return the callbacks of a binary SavedModel or GraphDef, in the order of the file.

    Raises:
        BadInput: it is neither.
    """
    try:
        return list(_find_in_file(memoryview(content), file))
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise BadInput(
            f"not a SavedModel or GraphDef: {error}",
            received=file,
            hint="write it again, or give another file",
        ) from error


def find_nodes_in_text(content: str, file: str) -> list[GraphSite]:
    """Return the callbacks of a SavedModel or GraphDef in text form, in the order of the file.

    Raises:
        BadInput: braces do not match.
    """
    found, blocks = [], [_Block("")]
    for match in TOKEN.finditer(content):
        opened, key, value, closed = match.group("opened", "key", "value", "closed")
        if opened:
            blocks.append(_Block(opened))
        elif key:
            blocks[-1].values.setdefault(key, value[1:-1])
        elif closed:
            if len(blocks) == 1:
                break
            block = blocks.pop()
            found += _close(block, blocks, file)
    if len(blocks) != 1 or not content.strip():
        raise BadInput(
            "not a SavedModel or GraphDef in text form: its braces do not match",
            received=file,
            hint="write it again, or give another file",
        )
    return found


TOKEN = re.compile(
    r"""\#[^\n]*
    | (?P<opened>\w+)\s*:?\s*[{<]
    | (?P<key>\w+)\s*:\s*(?P<value>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | (?P<closed>[}>])""",
    re.VERBOSE,
)
"""Comments, beginnings and ends of messages, and fields that are strings, of Protocol Buffers' text format."""


class _Block:
    """A message of a text file: what it is in its parent, its strings, and callbacks of a function not yet named."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[str, str] = {}
        self.nodes: list[dict[str, str]] = []


def _close(block: _Block, blocks: list[_Block], file: str) -> list[GraphSite]:
    """Return what is known once a message has ended: the nodes of a function are, when its signature has been read."""
    above = blocks[-1]
    if block.name in {"node", "node_def"} and block.values.get("op") in OPS:
        holder = next((one for one in reversed(blocks) if one.name == "function"), None)
        if holder is None:
            return [_site(block.values, "", file)]
        holder.nodes.append(block.values)
    elif block.name == "value" and above.name == "attr":
        above.values.setdefault("s", block.values.get("s", ""))
    elif block.name == "attr" and block.values.get("key") == "token":
        above.values["token"] = block.values.get("s", "")
    elif block.name == "signature":
        above.values["signature"] = block.values.get("name", "")
    return [_site(values, block.values.get("signature", ""), file) for values in block.nodes]


def _site(values: dict[str, str], function: str, file: str) -> GraphSite:
    op = values["op"]
    return GraphSite(file, values.get("name", ""), function, op, OPS[op], values.get("token", ""))


def _find_in_file(content: memoryview, file: str) -> Iterator[GraphSite]:
    fields = list(_fields(content))
    kinds = {(number, kind) for number, kind, _ in fields}
    if fields and kinds <= set(SAVED_MODEL_FIELDS.items()) and (2, BYTES) in kinds and (1, BYTES) not in kinds:
        graphs = [graph for meta in _parts(content, 2) for graph in _parts(meta, 2)]
    elif kinds <= set(GRAPH_FIELDS.items()):
        graphs = [content]
    else:
        raise ValueError("its fields are others")
    for graph in graphs:
        for node in _parts(graph, 1):
            yield from _find_in_node(node, "", file)
        for library in _parts(graph, 2):
            for function in _parts(library, 1):
                name = "".join(_text(name) for signature in _parts(function, 1) for name in _parts(signature, 1))
                for node in _parts(function, 3):
                    yield from _find_in_node(node, name, file)


def _find_in_node(node: memoryview, function: str, file: str) -> Iterator[GraphSite]:
    fields = [(number, value) for number, _, value in _fields(node) if isinstance(value, memoryview)]
    op = next((_text(value) for number, value in fields if number == 2), "")
    if op in OPS:
        name = next((_text(value) for number, value in fields if number == 1), "")
        yield GraphSite(file, name, function, op, OPS[op], _token([value for number, value in fields if number == 5]))


def _token(attributes: list[memoryview]) -> str:
    for attribute in attributes:
        if [_text(key) for key in _parts(attribute, 1)] == ["token"]:
            return "".join(_text(text) for value in _parts(attribute, 2) for text in _parts(value, 2))
    return ""


def _text(value: memoryview) -> str:
    return bytes(value).decode()


def _parts(message: memoryview, wanted: int) -> list[memoryview]:
    """Return the fields of a message that have a number and are bytes: strings and messages."""
    return [value for number, _, value in _fields(message) if number == wanted and isinstance(value, memoryview)]


def _fields(message: memoryview) -> Iterator[tuple[int, int, Value]]:
    """Yield number, wire type and value of each field; bytes are not copied.

    Raises:
        ValueError: the message is cut off or is none.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            length, at = _varint(message, at)
        elif kind in FIXED_BYTES:
            length = FIXED_BYTES[kind]
        else:
            raise ValueError(f"no wire type {kind} at byte {at}")
        if at + length > len(message):
            raise ValueError("it is cut off")
        yield number, kind, message[at : at + length]
        at += length


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(LONGEST_VARINT):
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number that does not end")
