// sin_double: 2 sin(x).

#include "elementwise.h"
#include "vector_math.h"

struct SinDouble {
  static constexpr int kCycles = 3;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return 2 * pyopbench::Sin(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 2 * pyopbench::Cos(x) * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return -2 * pyopbench::Sin(x) * dy * v; }
};
PYOPBENCH_ELEMENTWISE(SinDouble)
