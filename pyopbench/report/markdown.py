"""Text that means itself in Markdown (CommonMark 0.31 and GitHub's tables), whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup

SPECIAL = re.compile(r"[\\`*\[\]<>|~$!&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""What can begin or end markup anywhere; an underscore inside a word cannot (CommonMark 0.31, rule 2 of emphasis)."""
LINE_START = re.compile(r"^(\d{1,9})?([#+\-=.)]+)(?=[ \t]|[#+\-=]|$)")
"""What makes a heading, a list, a rule or an underlined heading at the beginning of a line."""
BACKTICKS = re.compile("`+")


def escape(text: str) -> str:
    """Return one line that shows `text` as it is, in a table too."""
    line = SPECIAL.sub(lambda found: f"\\{found.group()}", " ".join(text.split()))
    return LINE_START.sub(lambda found: f"{found.group(1) or ''}\\{found.group(2)}", line)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose cells show their texts as they are."""
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return head + [f"| {' | '.join(map(escape, row))} |" for row in rows]


def fence(text: str) -> Markup:
    """Return a block of code that holds `text`, inside more backticks than it has in a row."""
    longest = max((len(run) for run in BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return Markup(f"{ticks}\n{text}\n{ticks}")
