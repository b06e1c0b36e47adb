// What a host and a GPU compute alike: an op's formulas, each applied to one place of arrays. Nothing of TensorFlow is
// here: nvcc compiles formulas without TensorFlow's headers, of which some want headers of CUDA that are not in the wheel.

#ifndef PYOPBENCH_KERNELS_FORMULAS_H_
#define PYOPBENCH_KERNELS_FORMULAS_H_

#include <cmath>
#include <cstdint>

// Stands before what is computed on a GPU too.
#ifdef __CUDACC__
#define PYOPBENCH_DEVICE __host__ __device__
#else
#define PYOPBENCH_DEVICE
#endif

namespace pyopbench {

// True for an op whose value is its input, and whose gradient is the gradient that comes in: memory is passed on.
template <typename Op>
inline constexpr bool kPasses = false;

// What Formula is applied to: arrays of one length.
template <typename T, typename Formula>
struct Inputs {
  const T* at[Formula::kInputs];
};

// kInputs arrays are read; the output may take the memory of one of kReusable, the last first.
template <typename Op>
struct ValueOf {
  static constexpr int kInputs = 1, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {0};
  static constexpr bool kIsLast = kPasses<Op>;
  template <typename T> PYOPBENCH_DEVICE static T At(const T* const* in, int64_t i) { return Op::Value(in[0][i]); }
};

template <typename Op>
struct GradientOf {
  static constexpr int kInputs = 2, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {1, 0};
  static constexpr bool kIsLast = kPasses<Op>;
  template <typename T> PYOPBENCH_DEVICE static T At(const T* const* in, int64_t i) {
    return Op::Gradient(in[0][i], in[1][i]);
  }
};

template <typename Op>
struct BendOf {
  static constexpr int kInputs = 3, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {2, 1, 0};
  static constexpr bool kIsLast = false;
  template <typename T> PYOPBENCH_DEVICE static T At(const T* const* in, int64_t i) {
    return Op::Bend(in[0][i], in[1][i], in[2][i]);
  }
};

}  // namespace pyopbench

#endif  // PYOPBENCH_KERNELS_FORMULAS_H_
