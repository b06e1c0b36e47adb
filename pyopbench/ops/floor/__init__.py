"""Ops with nothing to do, which tell what a bridge costs: one file per op, ending `OP = Op(...)`.

They are measured through each callback of a run and never decided about.
"""
