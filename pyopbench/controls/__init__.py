"""Variants whose difference from another one is known, for `pyopbench certify`: never part of an ordinary run.

They are found as a team's own variants are, through PYOPBENCH_PATH, which `certify` sets for its workers.
"""
