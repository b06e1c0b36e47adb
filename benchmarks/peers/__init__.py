"""What each tool runs, and how its results are read, for `benchmarks/against_peers.py`."""
