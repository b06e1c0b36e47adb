"""What is measured beside variants, bodies alone and an empty graph: one file each, ending `VARIANT = Variant(...)`."""
