// relu: x where it is above 0, else 0; what is no number stays none. The gradient at 0 is 0, as TensorFlow's.

#include "elementwise.h"

struct Relu {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x <= 0 ? T(0) : x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return x > 0 ? dy : T(0); }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T, T) { return 0; }
};
PYOPBENCH_ELEMENTWISE(Relu)
