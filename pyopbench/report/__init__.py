"""From a judgement to HTML, Markdown, JSON and the terminal."""
