"""numpy_function under a second name: whatever is measured between the two is noise."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.ops.load import load_variant

VARIANT = replace(
    load_variant("numpy_function"),
    name="twin",
    summary="numpy_function under another name, for tests",
    role="by_name",
)
