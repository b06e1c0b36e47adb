"""From a case to a checked, warmed callable: the only seam for clocks. Imports TensorFlow."""
