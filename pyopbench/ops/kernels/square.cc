// square: x^2.

#include "elementwise.h"

struct Square {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x * x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 2 * x * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T dy, T v) { return 2 * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Square)
