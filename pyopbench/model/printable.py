"""Text as it may be shown: the one function between what results say and a terminal, Markdown or a page.

Names and messages come from files that anybody may have made. What a terminal would obey (escape sequences), what turns
the order of letters around (bidirectional controls) and what breaks a line where none is seen are shown as escapes.
"""

from __future__ import annotations

import re
from unicodedata import category

SUSPECT = re.compile("[^ -~\n\t]")
LINE_ENDS = ("Zl", "Zp")


def printable(text: str) -> str:
    """Return text with escapes in place of what is no sign to be seen; lines and tabs stay."""
    return SUSPECT.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    kind = category(found[0])
    return repr(found[0])[1:-1] if kind[0] == "C" or kind in LINE_ENDS else found[0]
