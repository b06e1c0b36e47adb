// log: the natural logarithm.

#include "elementwise.h"
#include "vector_math.h"

struct Log {
  static constexpr int kCycles = 3;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return pyopbench::Log(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return dy / x; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return -dy * v / (x * x); }
};
PYOPBENCH_ELEMENTWISE(Log)
