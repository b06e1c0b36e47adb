"""A port as source: files that stand by themselves, made of the body of an own op."""
