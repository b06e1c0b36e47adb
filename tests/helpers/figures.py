"""The figures of a page: numbers with a unit, shares, and counts of what is measured, outside of what is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
UNIT = r"%|points?\b|[µnm]?s\b|seconds?\b|minutes?\b|hours?\b|[KMG]i?B\b|times\b"
COUNTED = (
    r"(?:bodies|cases|copies|decisions|draws|elements|files|hosts|launches|lines|measurements|pairs|points|ports|"
    r"processes|reports|rounds|runs|samples|series|settings|shards|slowdowns|verdicts)\b"
)
FIGURE = re.compile(rf"(?<![\w.]){NUMBER}(?: of {NUMBER}(?![\w.])| ?(?:{UNIT})| (?:{COUNTED}))|(?<!\w)\d+:\d\d\b")
QUOTED = re.compile(r"<!-- (?:quoted|printed): [^>]+ -->.*?<!-- end of (?:quote|print) -->", re.DOTALL)
FENCED = re.compile(r"^\s*```.*?^\s*```\s*$", re.DOTALL | re.MULTILINE)
BEGINS = re.compile(r"<!-- (?:quoted|printed): ")
ENDS = re.compile(r"<!-- end of (?:quote|print) -->")
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
TARGET = re.compile(r"\]\([^)]*\)")
HEADING = re.compile(r"^#.*$", re.MULTILINE)


def figures(page: str) -> Iterator[str]:
    """Yield the figures of prose and tables, in order; not of code, headings, targets of links and what is quoted."""
    text = page
    for pattern, left in ((QUOTED, ""), (FENCED, ""), (CODE, "`code`"), (TARGET, "]"), (HEADING, "")):
        text = pattern.sub(left, text)
    for found in FIGURE.finditer(" ".join(text.split())):
        yield found.group()


def marks(page: str) -> tuple[int, int]:
    """Return how many quotes begin, and how many end."""
    return len(BEGINS.findall(page)), len(ENDS.findall(page))
