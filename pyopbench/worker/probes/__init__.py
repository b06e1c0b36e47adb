"""Probes: one file each, ending `PROBE = Probe(...)`; found by the file's name."""
