"""What travels between the client of a fleet and its hosts: plain data of these types, and bytes on the way.

Dask itself pickles what it carries. So that nothing of a fleet relies on that, what is asked of a host and what it
answers are bytes that both sides read as a type, and refuse where they are not of it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from pyopbench.model.errors import BadInput

T = TypeVar("T", bound=Struct)

MIB = 2**20
MOST_SENT_BYTES = 4 * MIB
"""Of all files that are sent with a shard: sources and example inputs, not data sets."""
MOST_RETURNED_BYTES = 1024 * MIB
"""Of the folder of a shard, which has some megabytes."""
LONGEST_WORDS = 4000
"""Characters of the end of a log that go back to the client."""

FLEET_ID = r"^[0-9a-f]{16}\Z"
HOST = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z"
FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.(json|jsonl)")
"""What a folder of results has, in it or in the folder of a version of TensorFlow."""
SENT_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z"

FleetId: TypeAlias = Annotated[str, Meta(pattern=FLEET_ID)]
HostName: TypeAlias = Annotated[str, Meta(pattern=HOST)]
Sha256: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Number: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0)]


class SentFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that the user sends to the hosts.

    Attributes:
        text: how the command line names it.
        name: of the file, without folders.
        sha256: of its content, which it lies under on a host.
        content: of the file.
    """

    text: str
    name: Annotated[str, Meta(pattern=SENT_NAME)]
    sha256: Sha256
    content: bytes

    def __post_init__(self) -> None:
        """Refuse a content that is another one than was sent."""
        if hashlib.sha256(self.content).hexdigest() != self.sha256:
            raise ValueError("the content is not what its hash says")


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shard that a host is to measure.

    Attributes:
        fleet: the fleet that it is of.
        shard: its number, from 1.
        of: how many there are.
        words: what `pyopbench run` is given besides the shard and the folder.
        own_words: what `pyopbench resume` is given besides the folder.
        files: what is sent along.
    """

    fleet: FleetId
    shard: Number
    of: Number
    words: list[str]
    own_words: list[str]
    files: list[SentFile]


Outcome: TypeAlias = Literal["measured", "failed", "stopped"]


class Delivery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a shard on a host.

    Attributes:
        fleet: the fleet that it is of.
        shard: its number, from 1.
        host: that it was measured on.
        outcome: what became of it.
        exit_code: of the process that measured; None where there was none.
        told: the end of what it said, where it failed.
        seconds: from when the host was free until the shard was measured and read.
        waited_seconds: for the lock of the host.
        files: of the folder of results, by path in it; none unless it is measured.
    """

    fleet: FleetId
    shard: Number
    host: HostName
    outcome: Outcome
    exit_code: int | None
    told: Annotated[str, Meta(max_length=LONGEST_WORDS)]
    seconds: NotNegative
    waited_seconds: NotNegative
    files: dict[str, bytes]

    def __post_init__(self) -> None:
        """Refuse names of files that lead elsewhere, and more than a shard ever has."""
        for name in self.files:
            if not FILE.fullmatch(name) or ".." in PurePosixPath(name).parts:
                raise ValueError(f"not the name of a file of results: {name!r}")
        if sum(map(len, self.files.values())) > MOST_RETURNED_BYTES:
            raise ValueError("more bytes than a shard has")


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host is, as far as it can be told without starting TensorFlow.

    Attributes:
        host: its name.
        now: its clock, in seconds since 1970.
        cpu: the processor; None where the system does not tell, as below.
        cores: that a process may use.
        memory_bytes: of the machine.
        governor: of the frequency of the processor.
        os: operating system.
        python: version.
        pyopbench: version.
        commit: of the checkout that pyopbench runs from.
        tensorflow: version that is installed beside pyopbench.
        environments: versions of TensorFlow that there are environments of.
        compiler: that kernels are compiled with.
        cuda_compiler: that CUDA kernels are compiled with.
        gpus: names of GPUs.
        free_bytes: of the disk that shards are measured into.
        is_measuring: whether somebody holds the lock of the host.
        lock: why the lock cannot be used; empty if it can.
        dask: what of Dask's own is on that runs beside a measurement.
    """

    host: HostName
    now: float
    cpu: str | None
    cores: int
    memory_bytes: int | None
    governor: str | None
    os: str
    python: str
    pyopbench: str
    commit: str | None
    tensorflow: str | None
    environments: list[str]
    compiler: str | None
    cuda_compiler: str | None
    gpus: list[str]
    free_bytes: int | None
    is_measuring: bool | None
    lock: str
    dask: list[Literal["profiler", "GIL monitor"]]


class KeptShards(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shards of a fleet that a host keeps.

    Attributes:
        host: its name.
        shards: that are finished.
        begun: that are not, and can be continued there.
    """

    host: HostName
    shards: list[Number]
    begun: list[Number]


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host is asked about a fleet: which of its shards are finished there, to stop, or to forget some.

    Attributes:
        fleet: which.
        shards: that it is about; all of the fleet if there are none.
    """

    fleet: FleetId
    shards: list[Number] = []


def packed(message: Struct) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message)


def read(content: Any, kind: type[T], place: str) -> T:
    """Return the message that bytes hold.

    Raises:
        BadInput: they hold none of this type; names `place`.
    """
    try:
        if not isinstance(content, bytes):
            raise msgspec.ValidationError(f"expected bytes, got {type(content).__name__}")
        return msgspec.msgpack.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeError, OverflowError, RecursionError) as error:
        raise BadInput(
            "a host or the client of a fleet sent what is no message of pyopbench",
            received=f"{place}: {error}",
            legal=f"a {kind.__name__.lower()} of this version of pyopbench",
            hint="install the same pyopbench everywhere: pyopbench fleet doctor",
        ) from error
