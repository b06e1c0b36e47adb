"""The variants: one file each, ending `VARIANT = Variant(...)`; found by the file's name."""
