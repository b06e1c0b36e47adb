"""A port as source: self-contained files, written from the body of an own op."""
