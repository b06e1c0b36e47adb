"""Results of other tools, read as a `Run`: asv and pytest-benchmark."""
