"""Bodies alone, measured beside the callbacks that call them: one file per part, ending `VARIANT = Variant(...)`."""
