// What all kernels have in common: work shared among TensorFlow's own threads, and registration in both types.
//
// Kernels use TensorFlow's C++ API and not its C API, because only that one gives them the pool of worker threads, and
// lets them write into the memory of an input that nobody else needs (`forward_input_or_allocate_output`).

#ifndef PYOPBENCH_KERNELS_COMMON_H_
#define PYOPBENCH_KERNELS_COMMON_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace pyopbench {

using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;
using tensorflow::shape_inference::InferenceContext;

// To wake a worker and to wait for it costs some 50 microseconds on a virtual machine; work below that is not shared.
constexpr int64_t kLeastShared = 500'000;

// Calls work(begin, end) for parts of [0, total), on TensorFlow's worker threads where that pays. `cycles` is about what
// one unit costs; from it the pool decides into how many parts to cut.
template <typename Work>
void Share(OpKernelContext* context, int64_t total, int64_t cycles, const Work& work) {
  cycles = std::max<int64_t>(cycles, 1);  // rows of no numbers cost nothing
  if (total <= kLeastShared / cycles) return work(int64_t{0}, total);
  auto* workers = context->device()->tensorflow_cpu_worker_threads()->workers;
  workers->ParallelFor(total, cycles, [&work](int64_t begin, int64_t end) { work(begin, end); });
}

}  // namespace pyopbench

#ifdef PYOPBENCH_SIMULATED_DEVICE
#define PYOPBENCH_REGISTER_ON_SIMULATED_DEVICE(name, Kernel)                                        \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_GPU).TypeConstraint<float>("T"),     \
                          Kernel<float>);                                                           \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_GPU).TypeConstraint<double>("T"),    \
                          Kernel<double>);
#else
#define PYOPBENCH_REGISTER_ON_SIMULATED_DEVICE(name, Kernel)
#endif

// Registers Kernel<float> and Kernel<double> for an op whose type attribute is T; on the simulated device too, whose
// memory is the host's.
#define PYOPBENCH_REGISTER(name, Kernel)                                                            \
  PYOPBENCH_REGISTER_ON_SIMULATED_DEVICE(name, Kernel)                                              \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"),     \
                          Kernel<float>);                                                           \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"),    \
                          Kernel<double>)

#endif  // PYOPBENCH_KERNELS_COMMON_H_
