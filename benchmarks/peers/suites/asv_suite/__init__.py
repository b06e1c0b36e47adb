"""The suite that asv collects."""
