"""Fixtures of the command line, for the tests of this folder."""

from commands import _no_worker, call, planned

__all__ = ["_no_worker", "call", "planned"]
