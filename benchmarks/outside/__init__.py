"""Programs and functions that nobody here wrote, and what becomes of their ports."""
