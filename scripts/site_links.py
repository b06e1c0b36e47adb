"""What MkDocs asks while it builds the site: pages from outside of docs/, and links that lead where pages are there.

README.md, CONTRIBUTING.md, CHANGELOG.md and the READMEs of benchmarks/ and results/ stay where people look for them
in the repository, and are pages of the site too. A link to a file that is no page stays as its text: nothing is known
of where readers of the site find the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
PAGES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
    "results.md": "results/README.md",
}
"""Page of the site -> file of the repository, for those outside of docs/."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside of docs/."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page with its links turned from files of the repository into pages of the site."""
    sources = {source: name for name, source in PAGES.items()}
    here = page.file.src_uri
    source = PAGES.get(here, f"docs/{here}")

    def turned(found: re.Match[str]) -> str:
        mark, label, target, anchor = found.groups(default="")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        name = sources.get(path) or path.removeprefix("docs/")
        name = f"{name}/README.md" if (ROOT / path / "README.md").is_file() else name
        if files.get_file_from_path(name) is None and not (ROOT / path).exists():
            return found.group()  # leads nowhere, which the strict build reports
        if files.get_file_from_path(name) is None:
            return label
        return f"{mark}[{label}]({posixpath.relpath(name, posixpath.dirname(here) or '.')}{anchor})"

    return LINK.sub(turned, markdown)
