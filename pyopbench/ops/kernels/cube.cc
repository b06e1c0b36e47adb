// cube: x^3.

#include "elementwise.h"

struct Cube {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x * x * x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 3 * x * x * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return 6 * x * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Cube)
