"""Runs a program with its callbacks counted, and reads the counts."""
