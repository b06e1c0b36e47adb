"""C++ sources of custom ops, and what compiles them and registers them with TensorFlow."""
