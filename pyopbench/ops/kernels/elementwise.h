// An elementwise op from a struct of three formulas.
//
//   struct Square {
//     static constexpr int kCycles = 1;  // about what a number costs
//     template <typename T> PYOPBENCH_DEVICE static T Value(T x) { return x * x; }
//     template <typename T> PYOPBENCH_DEVICE static T Gradient(T x, T dy) { return 2 * x * dy; }
//     template <typename T> PYOPBENCH_DEVICE static T Bend(T x, T dy, T v) { return 2 * dy * v; }
//   };
//   PYOPBENCH_ELEMENTWISE(Square)
//
// That registers PyopbenchSquare(x), PyopbenchSquareGradient(x, dy) and PyopbenchSquareGradientGradient(x, dy, v), which
// is the gradient of the second by x: Bend is d Gradient / dx, times v. By dy it is the second itself, because a gradient
// is linear in dy.
//
// The same source is compiled up to three times: for the CPU (elementwise_host.h), and where there are GPUs by nvcc for
// what runs on them and by the C++ compiler for the kernels that start it (elementwise_gpu.h).

#ifndef PYOPBENCH_KERNELS_ELEMENTWISE_H_
#define PYOPBENCH_KERNELS_ELEMENTWISE_H_

#include "formulas.h"

#ifndef __CUDACC__

#include "common.h"

namespace pyopbench {

// Applies Formula to each number, or pair or triple of numbers, of inputs of one shape. The output takes the memory of
// an input that is not needed any more, the last one first; so what is read may be what is written.
template <typename T, typename Formula>
class Elementwise : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const TensorShape shape = context->input(0).shape();
    Inputs<T, Formula> in;
    for (int i = 0; i < Formula::kInputs; ++i) {
      const Tensor& input = context->input(i);
      OP_REQUIRES(context, input.shape() == shape,
                  InvalidArgument("input ", i, " has shape ", input.shape().DebugString(), " and input 0 has ",
                                  shape.DebugString(), "; they must be the same"));
      in.at[i] = input.flat<T>().data();
    }
    if (Formula::kIsLast) return context->set_output(0, context->input(Formula::kInputs - 1));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(Formula::kReusable, 0, shape, &output));
    Apply(context, in, output->flat<T>().data(), shape.num_elements());
  }

  virtual void Apply(OpKernelContext* context, const Inputs<T, Formula>& in, T* out, int64_t total) = 0;
};

}  // namespace pyopbench

#endif  // __CUDACC__

#if defined(__CUDACC__) || defined(PYOPBENCH_GPU)
#include "elementwise_gpu.h"
#else
#include "elementwise_host.h"
#endif

#endif  // PYOPBENCH_KERNELS_ELEMENTWISE_H_
