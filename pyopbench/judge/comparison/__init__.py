"""Two sides of results, or several versions of TensorFlow: what changed."""
