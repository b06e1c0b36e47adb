// sinh: the hyperbolic sine.

#include "elementwise.h"
#include "vector_math.h"

struct Sinh {
  static constexpr int kCycles = 2;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return pyopbench::Sinh(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return pyopbench::Cosh(x) * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return pyopbench::Sinh(x) * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Sinh)
