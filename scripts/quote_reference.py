"""Write into README.md what the reference run decided, between two marks: nothing there is typed by hand.

python scripts/quote_reference.py     after results/reference was measured or reported again
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyopbench.core import formatting
from pyopbench.judge.answer import Answer
from pyopbench.report.markdown import escape
from pyopbench.report.wording.decisions import answer_text

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REFERENCE = ROOT / "results" / "reference"
BEGIN, END = "<!-- what results/reference decided -->\n", "<!-- end of what it decided -->"
USES = ("inference", "training")


def quoted(reference: Path = REFERENCE) -> str:
    """Return when, on what and how a run was measured, and a row for each op, as Markdown."""
    run = json.loads((reference / "run.json").read_text(encoding="utf-8"))
    decisions = json.loads((reference / "decisions.json").read_text(encoding="utf-8"))["decisions"]
    environment = run["environment"]
    head = (
        f"`{' '.join(run['command'])}` on {run['created'][:10]}, {environment['cores']} cores of "
        f"{environment['cpu']}, TensorFlow {environment['tensorflow']}:"
    )
    ops = dict.fromkeys(decision["op"] for decision in decisions)
    found = {(decision["op"], decision["use"]): decision for decision in decisions}
    columns = ("op", *(f"{use}: {what}" for use in USES for what in ("what to do", "saves")))
    rows = [(f"`{op}`", *(cell for use in USES for cell in _cells(found.get((op, use))))) for op in ops]
    lines = [columns, ("---",) * len(columns), *rows]
    return f"{head}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cells(decision: dict[str, Any] | None) -> tuple[str, str]:
    if decision is None:
        return formatting.MISSING, formatting.MISSING
    saved = formatting.MISSING
    if decision["choice"] is not None:
        saved = formatting.saved_at_least(decision["saved"], decision["saved_low"])
    answer = answer_text(Answer(decision["action"], decision["choice"]))
    return escape(answer), escape(saved)


def written(readme: str, block: str) -> str:
    """Return a README with the block between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8"), quoted()), encoding="utf-8")
