"""Removes the code for other GPUs from a library: `python scripts/prune_gpu_code.py 90 libtensorflow_cc.so.2 ...`.

A library that CUDA's compiler made has each kernel once for every generation of GPUs, and once as text (PTX) for later
ones; CUDA uses the one that fits best. All others are overwritten with zeros, in place: the file keeps its size, and
compresses to much less. 90 is compute capability 9.0. A kernel that has no code for it keeps its newest text.

The layout is that of `fatbinary_section.h` and of the headers of containers that NVIDIA's tools print
(`cuobjdump --dump-fatbin`). A container begins with a magic number, its version, the size of its header, and the size
of the rest. Each of its parts begins with its kind, a version, the size of its header, and the size of its content; its
capability comes later in the header.
"""

from __future__ import annotations

import mmap
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECTION = ".nv_fatbin"
MAGIC = 0xBA55ED50
TEXT, CODE = 1, 2
"""Kinds of parts: PTX, and machine code of one capability."""
CONTAINER, PART, CAPABILITY_AT = struct.Struct("<IHHQ"), struct.Struct("<HHIQ"), 28


@dataclass(frozen=True)
class Part:
    """Code of one kind for one capability, and where it is in the file."""

    kind: int
    capability: int
    begin: int
    end: int


def containers(content: mmap.mmap | bytes, begin: int, end: int) -> Iterator[list[Part]]:
    """Yield the parts of each container between two offsets."""
    at = begin
    while at + CONTAINER.size <= end:
        magic, _, header, size = CONTAINER.unpack_from(content, at)
        if magic != MAGIC:
            at += 8  # containers are aligned
            continue
        part, at = at + header, at + header + size
        parts = []
        while part < at:
            kind, _, header, size = PART.unpack_from(content, part)
            (capability,) = struct.unpack_from("<I", content, part + CAPABILITY_AT)
            parts.append(Part(kind, capability, part + header, part + header + size))
            part += header + size
        yield parts


def kept(parts: Sequence[Part], capability: int) -> Part | None:
    """Return the part that CUDA uses on a GPU: code of its generation that is not newer, or else the newest text."""
    fitting = [one for one in parts if one.capability <= capability]
    code = [one for one in fitting if one.kind == CODE and one.capability // 10 == capability // 10]
    texts = [one for one in fitting if one.kind == TEXT]
    return max(code or texts, key=lambda one: one.capability, default=None)


def prune(library: Path, capability: int) -> tuple[int, int]:
    """Overwrite the code that a GPU of a capability does not use; return the bytes of code before and after.

    Raises:
        SystemExit: a kernel has no code for that GPU; nothing was overwritten.
    """
    place = _section(library)
    if place is None:
        return 0, 0
    with library.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        found = list(containers(content, *place))
        chosen = [kept(parts, capability) for parts in found]
        if None in chosen:
            raise SystemExit(f"{library} has kernels that do not run on capability {capability / 10:.1f}")
        for parts, one in zip(found, chosen, strict=True):
            for part in parts:
                if part != one:
                    content[part.begin : part.end] = bytes(part.end - part.begin)
    sizes = [[part.end - part.begin for part in parts] for parts in found]
    return sum(map(sum, sizes)), sum(one.end - one.begin for one in chosen if one)


def _section(library: Path) -> tuple[int, int] | None:
    """Return the offsets at which the section begins and ends; None if there is no such section."""
    output = subprocess.run(["readelf", "-SW", str(library)], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        name, _, rest = line.partition("] ")[2].partition(" ")
        if name == SECTION:
            _, _, offset, size, *_ = rest.split()
            return int(offset, 16), int(offset, 16) + int(size, 16)
    return None


if __name__ == "__main__":
    for path in map(Path, sys.argv[2:]):
        before, after = prune(path, int(sys.argv[1]))
        sys.stdout.write(f"{path.name}: {before / 1e6:.0f} MB of code for GPUs, {after / 1e6:.0f} MB of it kept\n")
