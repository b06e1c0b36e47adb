"""The parent process: it plans, starts workers, stores what they measure, and decides when to stop."""
