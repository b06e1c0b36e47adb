"""The suite that asv collects; docs/history.md says how to run it."""
