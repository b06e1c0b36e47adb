// identity: x itself. Nothing is copied: the output is the input's memory, as tf.identity's is.

#include "elementwise.h"

namespace {

using namespace pyopbench;

template <typename T, int kInput>
class Pass : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override { context->set_output(0, context->input(kInput)); }
};

template <typename T>
using Value = Pass<T, 0>;
template <typename T>
using Gradient = Pass<T, 1>;

struct Flat {
  static constexpr int kCycles = 1;
  template <typename T> static T Bend(T, T, T) { return 0; }
};
template <typename T>
using Bend = Elementwise<T, BendOf<Flat>>;

REGISTER_OP("PyopbenchIdentity").Input("x: T").Output("y: T").Attr("T: {float, double}").SetShapeFn(SameShapes);
REGISTER_OP("PyopbenchIdentityGradient")
    .Input("x: T").Input("dy: T").Output("dx: T").Attr("T: {float, double}").SetShapeFn(SameShapes);
REGISTER_OP("PyopbenchIdentityGradientGradient")
    .Input("x: T").Input("dy: T").Input("v: T").Output("d: T").Attr("T: {float, double}").SetShapeFn(SameShapes);
PYOPBENCH_REGISTER("PyopbenchIdentity", Value);
PYOPBENCH_REGISTER("PyopbenchIdentityGradient", Gradient);
PYOPBENCH_REGISTER("PyopbenchIdentityGradientGradient", Bend);

}  // namespace
