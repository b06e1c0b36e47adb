"""Callbacks in the user's own program: found in sources, counted while it runs."""
