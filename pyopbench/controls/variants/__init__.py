"""One file per control, named after the variant that it is made from."""
