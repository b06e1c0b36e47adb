"""Sentences, made from findings, verdicts and other values; nothing reads one back."""
