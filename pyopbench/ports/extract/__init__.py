"""A function and everything it needs, as the tree of a module of its own. Imports neither TensorFlow nor ports."""
