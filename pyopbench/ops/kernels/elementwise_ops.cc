// The elementwise ops of the package, in one library because TensorFlow's headers take longer to compile than all of them.

#include "elementwise.h"
#include "vector_math.h"

// cube: x^3.
struct Cube {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x * x * x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 3 * x * x * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return 6 * x * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Cube)

// double: 2 x.
struct Double {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x + x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T, T dy) { return dy + dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T, T) { return 0; }
};
PYOPBENCH_ELEMENTWISE(Double)

// identity: x itself. Nothing is copied: the output is the input's memory, as tf.identity's is.
struct Identity {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T, T dy) { return dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T, T) { return 0; }
};
template <> inline constexpr bool pyopbench::kPasses<Identity> = true;
PYOPBENCH_ELEMENTWISE(Identity)

// log: the natural logarithm.
struct Log {
  static constexpr int kCycles = 3;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return pyopbench::Log(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return dy / x; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return -dy * v / (x * x); }
};
PYOPBENCH_ELEMENTWISE(Log)

// relu: x where it is above 0, else 0; what is no number stays none. The gradient at 0 is 0, as TensorFlow's.
struct Relu {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x <= 0 ? T(0) : x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return x > 0 ? dy : T(0); }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T, T) { return 0; }
};
PYOPBENCH_ELEMENTWISE(Relu)

// sin_double: 2 sin(x).
struct SinDouble {
  static constexpr int kCycles = 3;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return 2 * pyopbench::Sin(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 2 * pyopbench::Cos(x) * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return -2 * pyopbench::Sin(x) * dy * v; }
};
PYOPBENCH_ELEMENTWISE(SinDouble)

// sinh: the hyperbolic sine.
struct Sinh {
  static constexpr int kCycles = 2;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return pyopbench::Sinh(x); }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return pyopbench::Cosh(x) * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return pyopbench::Sinh(x) * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Sinh)

// square: x^2.
struct Square {
  static constexpr int kCycles = 1;
  template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x * x; }
  template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 2 * x * dy; }
  template <typename T> PYOPBENCH_DEVICE static T Bend(T, T dy, T v) { return 2 * dy * v; }
};
PYOPBENCH_ELEMENTWISE(Square)
