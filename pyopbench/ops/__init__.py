"""What can be measured: ops, variants and gradients, one file each, and own ops. Imports TensorFlow."""
