// Elementwise ops on a GPU, in two parts of one library. nvcc compiles Launch for each formula and type, and sees nothing
// of TensorFlow; the C++ compiler, told PYOPBENCH_GPU, compiles kernels that call it. The ops themselves are registered
// by the library for the CPU, which is loaded before.

#ifndef PYOPBENCH_KERNELS_ELEMENTWISE_GPU_H_
#define PYOPBENCH_KERNELS_ELEMENTWISE_GPU_H_

namespace pyopbench {

// Computes out[i] for all i < total on a stream of CUDA, and returns before that is done: what went wrong, or nullptr.
template <typename T, typename Formula>
const char* Launch(void* stream, Inputs<T, Formula> in, T* out, int64_t total);

}  // namespace pyopbench

#ifdef __CUDACC__

namespace pyopbench {

// Threads in a block, and the most blocks: many times what any GPU has at work at once, and few enough to be started in
// no time. Beyond, each thread takes more than one number.
constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = int64_t{1} << 16;

// No __restrict__: the output may be the memory of an input. A thread reads a place before it writes it, and no other
// thread touches it.
template <typename T, typename Formula>
__global__ void Apply(Inputs<T, Formula> in, T* out, int64_t total) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) out[i] = Formula::At(in.at, i);
}

template <typename T, typename Formula>
const char* Launch(void* stream, Inputs<T, Formula> in, T* out, int64_t total) {
  if (total == 0) return nullptr;  // CUDA refuses a grid of no blocks
  const int64_t blocks = (total + kThreads - 1) / kThreads;
  const auto grid = static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
  Apply<T, Formula><<<grid, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(in, out, total);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace pyopbench

#define PYOPBENCH_LAUNCH(Formula)                                                                            \
  template const char* pyopbench::Launch(void*, pyopbench::Inputs<float, Formula>, float*, int64_t);         \
  template const char* pyopbench::Launch(void*, pyopbench::Inputs<double, Formula>, double*, int64_t);

// The names of their own are for ops that are called as a function is (Log): in a definition with `pyopbench::` before it
// nvcc would find the function.
#define PYOPBENCH_ELEMENTWISE(Op)                                                                            \
  using Op##Value = pyopbench::ValueOf<Op>;                                                                  \
  using Op##Gradient = pyopbench::GradientOf<Op>;                                                            \
  using Op##Bend = pyopbench::BendOf<Op>;                                                                    \
  PYOPBENCH_LAUNCH(Op##Value)                                                                                \
  PYOPBENCH_LAUNCH(Op##Gradient)                                                                             \
  PYOPBENCH_LAUNCH(Op##Bend)

#else  // __CUDACC__

#define EIGEN_USE_GPU  // else Eigen declares its GpuDevice and does not define it
#include "unsupported/Eigen/CXX11/Tensor"

namespace pyopbench {

template <typename T, typename Formula>
class OnGpu : public Elementwise<T, Formula> {
 public:
  using Elementwise<T, Formula>::Elementwise;

  void Apply(OpKernelContext* context, const Inputs<T, Formula>& in, T* out, int64_t total) override {
    // TensorFlow's own kernels are on this stream: what is started here waits for them, and they for it.
    const char* wrong = Launch<T, Formula>(context->eigen_gpu_device().stream(), in, out, total);
    OP_REQUIRES(context, wrong == nullptr, tensorflow::errors::Internal("CUDA cannot start a kernel: ", wrong));
  }
};

}  // namespace pyopbench

#define PYOPBENCH_REGISTER_ON_GPU(name, Formula)                                                             \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_GPU).TypeConstraint<float>("T"),              \
                          pyopbench::OnGpu<float, Formula>);                                                 \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_GPU).TypeConstraint<double>("T"),             \
                          pyopbench::OnGpu<double, Formula>);

#define PYOPBENCH_ELEMENTWISE(Op)                                                                            \
  PYOPBENCH_REGISTER_ON_GPU("Pyopbench" #Op, pyopbench::ValueOf<Op>)                                         \
  PYOPBENCH_REGISTER_ON_GPU("Pyopbench" #Op "Gradient", pyopbench::GradientOf<Op>)                           \
  PYOPBENCH_REGISTER_ON_GPU("Pyopbench" #Op "GradientGradient", pyopbench::BendOf<Op>)

#endif  // __CUDACC__

#endif  // PYOPBENCH_KERNELS_ELEMENTWISE_GPU_H_
