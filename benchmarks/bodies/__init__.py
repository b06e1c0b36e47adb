"""The bodies of `examples/corpus/`, and what becomes of each, for `benchmarks/corpus.py`."""
