// An elementwise op from a struct of three formulas.
//
//   struct Square {
//     static constexpr int kCycles = 1;                                   // about what a number costs
//     template <typename T> static T Value(T x) { return x * x; }
//     template <typename T> static T Gradient(T x, T dy) { return 2 * x * dy; }
//     template <typename T> static T Bend(T x, T dy, T v) { return 2 * dy * v; }   // d Gradient / dx, times v
//   };
//   PYOPBENCH_ELEMENTWISE(Square)
//
// That registers PyopbenchSquare(x), PyopbenchSquareGradient(x, dy) and PyopbenchSquareGradientGradient(x, dy, v), which
// is the gradient of the second by x. By dy it is the second itself, because a gradient is linear in dy.

#ifndef PYOPBENCH_KERNELS_ELEMENTWISE_H_
#define PYOPBENCH_KERNELS_ELEMENTWISE_H_

#include "common.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace pyopbench {

// Numbers that are computed before they are written past the caches, and the bytes of an output from which on that pays:
// a line that is written in the usual way is read first. Where a cache may still hold the output, it is the slower way:
// with 16 MB it took half as long again, with 64 MB four fifths of the time (2 cores, 2 MB of L2 cache each).
constexpr int64_t kBlock = 512;
constexpr int64_t kLeastStreamed = int64_t{32} << 20;

// Copies n numbers past the caches; both addresses are multiples of 16 bytes.
template <typename T>
inline void Stream(const T* from, T* to, int64_t n) {
#ifdef __SSE2__
  constexpr int64_t kAtOnce = sizeof(__m128i) / sizeof(T);
  for (int64_t i = 0; i < n; i += kAtOnce) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
#else
  std::copy_n(from, n, to);
#endif
}

// Makes other threads see what went past the caches before anything that is written later.
inline void EndStream() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

inline tensorflow::Status SameShapes(InferenceContext* context) {
  auto shape = context->input(0);
  for (int i = 1; i < context->num_inputs(); ++i) TF_RETURN_IF_ERROR(context->Merge(shape, context->input(i), &shape));
  context->set_output(0, shape);
  return tensorflow::Status();
}

// Applies Formula to each number, or pair or triple of numbers, of inputs of one shape. The output takes the memory of
// an input that is not needed any more, the last one first; so what is read may be what is written.
template <typename T, typename Formula>
class Elementwise : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const TensorShape shape = context->input(0).shape();
    const T* in[Formula::kInputs];
    for (int i = 0; i < Formula::kInputs; ++i) {
      const Tensor& input = context->input(i);
      OP_REQUIRES(context, input.shape() == shape,
                  InvalidArgument("input ", i, " has shape ", input.shape().DebugString(), " and input 0 has ",
                                  shape.DebugString(), "; they must be the same"));
      in[i] = input.flat<T>().data();
    }
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(Formula::kReusable, 0, shape, &output));
    T* out = output->flat<T>().data();
    const int64_t total = shape.num_elements(), blocks = total / kBlock;
    const bool reuses = std::find(in, in + Formula::kInputs, out) != in + Formula::kInputs;
    if (reuses || output->TotalBytes() < kLeastStreamed) {
      Share(context, total, Formula::kCycles,
            [&in, out](int64_t begin, int64_t end) { Formula::Run(in, begin, end, out + begin); });
      return;
    }
    Share(context, blocks, kBlock * Formula::kCycles, [&in, out](int64_t first, int64_t last) {
      alignas(64) T computed[kBlock];
      for (int64_t begin = first * kBlock; begin < last * kBlock; begin += kBlock) {
        Formula::Run(in, begin, begin + kBlock, computed);
        Stream(computed, out + begin, kBlock);
      }
      EndStream();
    });
    Formula::Run(in, blocks * kBlock, total, out + blocks * kBlock);
  }
};

template <typename Op>
struct ValueOf {
  static constexpr int kInputs = 1, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {0};
  template <typename T>
  static void Run(const T* const* in, int64_t begin, int64_t end, T* out) {
    const T* x = in[0];
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) out[i - begin] = Op::Value(x[i]);
  }
};

template <typename Op>
struct GradientOf {
  static constexpr int kInputs = 2, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {1, 0};
  template <typename T>
  static void Run(const T* const* in, int64_t begin, int64_t end, T* out) {
    const T *x = in[0], *dy = in[1];
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) out[i - begin] = Op::Gradient(x[i], dy[i]);
  }
};

template <typename Op>
struct BendOf {
  static constexpr int kInputs = 3, kCycles = Op::kCycles;
  static constexpr int kReusable[] = {2, 1, 0};
  template <typename T>
  static void Run(const T* const* in, int64_t begin, int64_t end, T* out) {
    const T *x = in[0], *dy = in[1], *v = in[2];
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) out[i - begin] = Op::Bend(x[i], dy[i], v[i]);
  }
};

}  // namespace pyopbench

#define PYOPBENCH_ELEMENTWISE(Op)                                                                            \
  REGISTER_OP("Pyopbench" #Op)                                                                               \
      .Input("x: T").Output("y: T").Attr("T: {float, double}").SetShapeFn(pyopbench::SameShapes);            \
  REGISTER_OP("Pyopbench" #Op "Gradient")                                                                    \
      .Input("x: T").Input("dy: T").Output("dx: T").Attr("T: {float, double}")                               \
      .SetShapeFn(pyopbench::SameShapes);                                                                    \
  REGISTER_OP("Pyopbench" #Op "GradientGradient")                                                            \
      .Input("x: T").Input("dy: T").Input("v: T").Output("d: T").Attr("T: {float, double}")                  \
      .SetShapeFn(pyopbench::SameShapes);                                                                    \
  template <typename T> using Op##Value = pyopbench::Elementwise<T, pyopbench::ValueOf<Op>>;                 \
  template <typename T> using Op##Gradient = pyopbench::Elementwise<T, pyopbench::GradientOf<Op>>;           \
  template <typename T> using Op##Bend = pyopbench::Elementwise<T, pyopbench::BendOf<Op>>;                   \
  PYOPBENCH_REGISTER("Pyopbench" #Op, Op##Value);                                                            \
  PYOPBENCH_REGISTER("Pyopbench" #Op "Gradient", Op##Gradient);                                              \
  PYOPBENCH_REGISTER("Pyopbench" #Op "GradientGradient", Op##Bend);

#endif  // PYOPBENCH_KERNELS_ELEMENTWISE_H_
