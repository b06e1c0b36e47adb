"""Measuring and judging from Python: functions that return results with frames, in a script or a notebook."""
