"""Forms of an op in a pipeline, one file each."""
