"""Bodies that handle text, written in TensorFlow's string ops."""
