"""From frames to estimates with intervals."""
