"""What travels is bytes of known types; everything else is refused, and nothing of it is evaluated."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import msgspec
import pytest

import fleet_fakes
from pyopbench.engine.fleet import messages
from pyopbench.engine.fleet.messages import Delivery, Request, SentFile
from pyopbench.model.errors import BadInput

REQUEST = Request(fleet=fleet_fakes.FLEET, shard=1, of=4, words=["double"], own_words=[], files=[])


def test_messages_come_back_as_they_were() -> None:
    sent = SentFile(text="./op.py", name="op.py", sha256=hashlib.sha256(b"x = 1").hexdigest(), content=b"x = 1")
    request = msgspec.structs.replace(REQUEST, files=[sent])
    assert messages.read(messages.packed(request), Request, "here") == request
    delivery = fleet_fakes.delivery("a", 1, {"run.json": b"{}", "tf-2.21.0/samples.jsonl": b""})
    assert messages.read(messages.packed(delivery), Delivery, "here") == delivery


class Evil:
    """Would end the process if anything unpickled it."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        pickle.dumps(Evil()),
        Evil(),
        "text",
        None,
        msgspec.msgpack.encode([1]),
        msgspec.msgpack.encode({**msgspec.to_builtins(REQUEST), "shard": 0}),
        msgspec.msgpack.encode({**msgspec.to_builtins(REQUEST), "fleet": "../../etc"}),
        msgspec.msgpack.encode({**msgspec.to_builtins(REQUEST), "more": 1}),
        b"\x81" * 5000,
    ],
    ids=range(10),
)
def test_what_is_no_message_is_refused(content: Any) -> None:
    with pytest.raises(BadInput):
        messages.read(content, Request, "here")


@pytest.mark.parametrize(
    "name", ["../run.json", "/etc/x.json", "a/b/run.json", ".ssh/x.json", "run.py", "..json/..", "tf-1/../run.json", ""]
)
def test_a_result_can_name_no_file_outside_of_its_folder(name: str) -> None:
    made = {**msgspec.structs.asdict(fleet_fakes.delivery("a", 1)), "files": {name: b""}}
    with pytest.raises(BadInput):
        messages.read(msgspec.msgpack.encode(made), Delivery, "here")


@pytest.mark.parametrize("host", ["", "../a", "a b", "-a", "a\n"])
def test_a_host_has_a_name_that_can_be_a_folder(host: str) -> None:
    made = {**msgspec.structs.asdict(fleet_fakes.delivery("a", 1)), "host": host}
    with pytest.raises(BadInput):
        messages.read(msgspec.msgpack.encode(made), Delivery, "here")


@pytest.mark.parametrize(("name", "content"), [("op.py", b"other"), ("../op.py", b"x"), ("a/op.py", b"x")])
def test_a_sent_file_is_what_its_hash_says_and_has_a_plain_name(name: str, content: bytes) -> None:
    file = {"text": "op.py", "name": name, "sha256": hashlib.sha256(b"x").hexdigest(), "content": content}
    made = {**msgspec.to_builtins(REQUEST), "files": [file]}
    with pytest.raises(BadInput):
        messages.read(msgspec.msgpack.encode(made), Request, "here")
