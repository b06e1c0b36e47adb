"""An example of each kind of finding."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

PLAIN: dict[Any, Any] = {str: "native", int: 3, float: 2.5, bool: True}


def example(hint: Any) -> Any:
    """Return some value of a type."""
    inner = get_args(hint)
    if get_origin(hint) is Literal:
        return inner[0]
    if get_origin(hint) is tuple:
        return (example(inner[0]),)
    if inner:
        return example(inner[0])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(**{field.name: example(hints[field.name]) for field in dataclasses.fields(hint)})
    return PLAIN[hint]
