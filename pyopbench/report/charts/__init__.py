"""Vega-Lite charts, one kind for each module."""
