// TensorFlow's own ops on the simulated device: their CPU kernels, which can read its memory because it is the host's.
//
// TensorFlow for the CPU comes without the GPU kernels of most ops. Left as it is, it would run them on the CPU and copy
// what a real GPU never copies. Listed are ops that TensorFlow's GPU build has kernels for (tensorflow/core/kernels), in
// the floating types, with the arguments that they take in host memory there. What is not listed falls back to the CPU.

#include <memory>
#include <string>
#include <vector>

#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

using namespace tensorflow;

struct Listed {
  const char* op;
  std::vector<const char*> on_host;
};

const std::vector<Listed>& Kernels() {
  static const auto* kernels = new std::vector<Listed>{
      {"Abs", {}}, {"AddN", {}}, {"AddV2", {}}, {"Atan", {}}, {"Cos", {}}, {"Cosh", {}}, {"Div", {}}, {"Elu", {}},
      {"EluGrad", {}}, {"Erf", {}}, {"Exp", {}}, {"Expm1", {}}, {"Floor", {}}, {"Greater", {}}, {"GreaterEqual", {}},
      {"Inv", {}}, {"InvGrad", {}}, {"Less", {}}, {"LessEqual", {}}, {"Log", {}}, {"Log1p", {}}, {"MatMul", {}},
      {"MatrixDeterminant", {}}, {"MatrixInverse", {}}, {"Maximum", {}}, {"Minimum", {}}, {"Mul", {}}, {"Neg", {}},
      {"Pow", {}}, {"RealDiv", {}}, {"Reciprocal", {}}, {"ReciprocalGrad", {}}, {"Relu", {}}, {"ReluGrad", {}},
      {"Rsqrt", {}}, {"RsqrtGrad", {}}, {"Select", {}}, {"SelectV2", {}}, {"Sigmoid", {}}, {"SigmoidGrad", {}},
      {"Sign", {}}, {"Sin", {}}, {"Sinh", {}}, {"Softplus", {}}, {"SoftplusGrad", {}}, {"Softsign", {}},
      {"SoftsignGrad", {}}, {"Sqrt", {}}, {"SqrtGrad", {}}, {"Square", {}}, {"SquaredDifference", {}}, {"Sub", {}},
      {"Tan", {}}, {"Tanh", {}}, {"TanhGrad", {}}, {"ZerosLike", {}},
      {"BroadcastTo", {"shape"}}, {"ConcatV2", {"axis"}}, {"Fill", {"dims"}}, {"GatherV2", {"axis"}},
      {"Max", {"reduction_indices"}}, {"Mean", {"reduction_indices"}}, {"Min", {"reduction_indices"}}, {"Pack", {}},
      {"Prod", {"reduction_indices"}}, {"Slice", {"begin", "size"}}, {"StridedSlice", {"begin", "end", "strides"}},
      {"StridedSliceGrad", {"shape", "begin", "end", "strides"}}, {"Sum", {"reduction_indices"}},
  };
  return *kernels;
}

// Does what the CPU kernel of the same node does.
class Borrowed : public OpKernel {
 public:
  explicit Borrowed(OpKernelConstruction* context) : OpKernel(context) {
    Status status;
    kernel_ = CreateOpKernel(DEVICE_CPU, context->device(), context->device()->GetAllocator(AllocatorAttributes()),
                             context->def(), context->graph_def_version(), &status);
    OP_REQUIRES_OK(context, status);
  }
  void Compute(OpKernelContext* context) override { kernel_->Compute(context); }

 private:
  std::unique_ptr<OpKernel> kernel_;
};

OpKernel* Create(OpKernelConstruction* context) { return new Borrowed(context); }

// Is the type that names the kernel a floating one? Whole numbers are mostly left on the host by GPU builds too.
bool IsFloating(const KernelDef& kernel) {
  for (const auto& constraint : kernel.constraint()) {
    if (constraint.name() != "T") continue;
    for (int type : constraint.allowed_values().list().type()) {
      if (type != DT_HALF && type != DT_FLOAT && type != DT_DOUBLE) return false;
    }
    return true;
  }
  return kernel.op() == "Fill" || kernel.op() == "GatherV2";
}

void Register(const KernelDef& kernel, const std::vector<const char*>& on_host) {
  auto* copy = new KernelDef(kernel);  // the registrar takes it
  copy->set_device_type(DEVICE_GPU);
  for (const char* argument : on_host) copy->add_host_memory_arg(argument);
  kernel_factory::OpKernelRegistrar registrar(copy, "Borrowed", Create);
}

const bool registered = [] {
  for (const Listed& listed : Kernels()) {
    const KernelList there = GetRegisteredKernelsForOp(listed.op);  // by name: a loop would not keep it
    for (const KernelDef& kernel : there.kernel()) {
      if (kernel.device_type() == DEVICE_CPU && kernel.label().empty() && IsFloating(kernel)) {
        Register(kernel, listed.on_host);
      }
    }
  }
  return true;
}();

}  // namespace
