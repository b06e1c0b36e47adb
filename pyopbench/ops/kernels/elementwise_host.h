// Elementwise ops on the CPU: on TensorFlow's threads, in vectors, and past the caches where the output is large.

#ifndef PYOPBENCH_KERNELS_ELEMENTWISE_HOST_H_
#define PYOPBENCH_KERNELS_ELEMENTWISE_HOST_H_

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

template <typename T, typename Formula>
inline void Run(Inputs<T, Formula> in, int64_t begin, int64_t end, T* out) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) out[i - begin] = Formula::At(in.at, i);
}

template <typename T, typename Formula>
class OnHost : public Elementwise<T, Formula> {
 public:
  using Elementwise<T, Formula>::Elementwise;

  void Apply(OpKernelContext* context, const Inputs<T, Formula>& in, T* out, int64_t total) override {
    const int64_t blocks = total / kBlock;
    const bool reuses = std::find(in.at, in.at + Formula::kInputs, out) != in.at + Formula::kInputs;
    if (reuses || total * static_cast<int64_t>(sizeof(T)) < kLeastStreamed) {
      Share(context, total, Formula::kCycles,
            [&in, out](int64_t begin, int64_t end) { Run(in, begin, end, out + begin); });
      return;
    }
    Share(context, blocks, kBlock * Formula::kCycles, [&in, out](int64_t first, int64_t last) {
      alignas(64) T computed[kBlock];
      for (int64_t begin = first * kBlock; begin < last * kBlock; begin += kBlock) {
        Run(in, begin, begin + kBlock, computed);
        Stream(computed, out + begin, kBlock);
      }
      EndStream();
    });
    Run(in, blocks * kBlock, total, out + blocks * kBlock);
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
  template <typename T> using Op##Value = pyopbench::OnHost<T, pyopbench::ValueOf<Op>>;                      \
  template <typename T> using Op##Gradient = pyopbench::OnHost<T, pyopbench::GradientOf<Op>>;                \
  template <typename T> using Op##Bend = pyopbench::OnHost<T, pyopbench::BendOf<Op>>;                        \
  PYOPBENCH_REGISTER("Pyopbench" #Op, Op##Value);                                                            \
  PYOPBENCH_REGISTER("Pyopbench" #Op "Gradient", Op##Gradient);                                              \
  PYOPBENCH_REGISTER("Pyopbench" #Op "GradientGradient", Op##Bend);

#endif  // PYOPBENCH_KERNELS_ELEMENTWISE_HOST_H_
