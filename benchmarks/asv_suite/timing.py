"""What benchmarks share that bring a clock of their own.

asv's own clock goes around a whole call, which leaves no way to time backward without its forward pass, and in
asv_runner 0.3.2 around a single call, however short (`TimeBenchmark.run`). So these benchmarks have a clock that asv
reads (`timer`), and advance it by the seconds that a call took, as pyopbench times it.
"""

from __future__ import annotations

BLOCK_SECONDS = 0.002
"""About how long a sample lasts: some times what the first call of a block costs more than the others."""


class OwnClock:
    """A benchmark whose calls advance `seconds`."""

    number = 1
    warmup_time = 0  # what is prepared is warm
    rounds = 2  # asv's own default: two processes for each combination
    repeat = (8, 60, 0.5)  # samples in a process: at least, at most, and the seconds after which it is enough
    seconds = 0.0

    def timer(self) -> float:
        """Return the seconds of all samples so far, added up."""
        return self.seconds
