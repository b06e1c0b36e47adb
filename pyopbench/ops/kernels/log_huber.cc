// log_huber: the loss of one number.

#include "log_huber.h"

namespace {

using namespace pyopbench;

tensorflow::Status Scalars(InferenceContext* context) {
  tensorflow::shape_inference::ShapeHandle scalar;
  for (int i = 0; i < context->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(context->WithRank(context->input(i), 0, &scalar));
  }
  for (int i = 0; i < context->num_outputs(); ++i) context->set_output(i, context->Scalar());
  return tensorflow::Status();
}

bool AreScalars(OpKernelContext* context) {
  for (int i = 0; i < context->num_inputs(); ++i) {
    const TensorShape& shape = context->input(i).shape();
    if (shape.dims() == 0) continue;
    context->SetStatus(InvalidArgument("input ", i, " must be a scalar and has shape ", shape.DebugString()));
    return false;
  }
  return true;
}

template <typename T>
class Value : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    if (!AreScalars(context)) return;
    const T x = context->input(0).scalar<T>()(), m = context->input(1).scalar<T>()();
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape(), &y));
    y->scalar<T>()() = LogHuber<T>(m).Value(x);
  }
};

template <typename T>
class Gradient : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    if (!AreScalars(context)) return;
    const T x = context->input(0).scalar<T>()(), dy = context->input(2).scalar<T>()();
    const LogHuber<T> loss(context->input(1).scalar<T>()());
    Tensor *dx = nullptr, *dm = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape(), &dx));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape(), &dm));
    dx->scalar<T>()() = loss.ByX(x) * dy;
    dm->scalar<T>()() = loss.ByM(x) * dy;
  }
};

REGISTER_OP("PyopbenchLogHuber").Input("x: T").Input("m: T").Output("y: T").Attr("T: {float, double}").SetShapeFn(Scalars);
REGISTER_OP("PyopbenchLogHuberGradient")
    .Input("x: T").Input("m: T").Input("dy: T").Output("dx: T").Output("dm: T").Attr("T: {float, double}")
    .SetShapeFn(Scalars);
PYOPBENCH_REGISTER("PyopbenchLogHuber", Value);
PYOPBENCH_REGISTER("PyopbenchLogHuberGradient", Gradient);

}  // namespace
