// log_huber and log_huber_elementwise: the loss of one number, and of every number of x with one m for all of them.
// For m > 0 it is x^2 where |x| <= m, else m^2 (1 - 2 log m + log x^2).

#include <vector>

#include "common.h"
#include "vector_math.h"

namespace {

using namespace pyopbench;

template <typename T>
struct LogHuber {
  explicit LogHuber(T m) : m(m), square(m * m), twice_log(2 * Log(m)) {}

  T Value(T x) const {
    const T outside = square * (1 - twice_log + Log(x * x));
    return std::abs(x) <= m ? x * x : outside;
  }
  T ByX(T x) const {
    const T outside = 2 * square / x;
    return std::abs(x) <= m ? 2 * x : outside;
  }
  T ByM(T x) const {
    const T outside = 2 * m * (Log(x * x) - twice_log);
    return std::abs(x) <= m ? T(0) : outside;
  }

  T m, square, twice_log;
};

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
class ScalarValue : public OpKernel {
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
class ScalarGradient : public OpKernel {
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
PYOPBENCH_REGISTER("PyopbenchLogHuber", ScalarValue);
PYOPBENCH_REGISTER("PyopbenchLogHuberGradient", ScalarGradient);

// The elementwise form.

constexpr int kCycles = 4;

// Numbers whose parts of dm are added up before they are added to others: always the same ones, so that the sum does not
// depend on how many threads there are.
constexpr int64_t kChunk = 1024;

tensorflow::Status Shapes(InferenceContext* context) {
  tensorflow::shape_inference::ShapeHandle scalar, shape = context->input(0);
  TF_RETURN_IF_ERROR(context->WithRank(context->input(1), 0, &scalar));
  if (context->num_inputs() == 3) {
    TF_RETURN_IF_ERROR(context->Merge(shape, context->input(2), &shape));
    context->set_output(1, context->Scalar());
  }
  context->set_output(0, shape);
  return tensorflow::Status();
}

#define REQUIRE_SCALAR_M(context)                                               \
  OP_REQUIRES(context, context->input(1).dims() == 0,                           \
              InvalidArgument("input 1, m, must be a scalar and has shape ",    \
                              context->input(1).shape().DebugString()))

template <typename T>
class Value : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    REQUIRE_SCALAR_M(context);
    const TensorShape shape = context->input(0).shape();
    const LogHuber<T> loss(context->input(1).scalar<T>()());
    const T* x = context->input(0).flat<T>().data();
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output({0}, 0, shape, &output));
    T* y = output->flat<T>().data();
    Share(context, shape.num_elements(), kCycles, [loss, x, y](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = loss.Value(x[i]);
    });
  }
};

template <typename T>
class Gradient : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    REQUIRE_SCALAR_M(context);
    const TensorShape shape = context->input(0).shape();
    OP_REQUIRES(context, context->input(2).shape() == shape,
                InvalidArgument("input 2, dy, has shape ", context->input(2).shape().DebugString(), " and x has ",
                                shape.DebugString(), "; they must be the same"));
    const LogHuber<T> loss(context->input(1).scalar<T>()());
    const T* x = context->input(0).flat<T>().data();
    const T* dy = context->input(2).flat<T>().data();
    Tensor *by_x = nullptr, *by_m = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &by_x));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape(), &by_m));
    T* dx = by_x->flat<T>().data();
    const int64_t total = shape.num_elements(), chunks = (total + kChunk - 1) / kChunk;
    std::vector<double> sums(chunks);
    double* sum_of = sums.data();
    Share(context, chunks, 2 * kCycles * kChunk, [=](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = chunk * kChunk, end = std::min(total, begin + kChunk);
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = begin; i < end; ++i) {
          dx[i] = loss.ByX(x[i]) * dy[i];
          sum += loss.ByM(x[i]) * dy[i];
        }
        sum_of[chunk] = sum;
      }
    });
    double sum = 0;
    for (double one : sums) sum += one;
    by_m->scalar<T>()() = static_cast<T>(sum);
  }
};

REGISTER_OP("PyopbenchLogHuberElementwise")
    .Input("x: T").Input("m: T").Output("y: T").Attr("T: {float, double}").SetShapeFn(Shapes);
REGISTER_OP("PyopbenchLogHuberElementwiseGradient")
    .Input("x: T").Input("m: T").Input("dy: T").Output("dx: T").Output("dm: T").Attr("T: {float, double}")
    .SetShapeFn(Shapes);
PYOPBENCH_REGISTER("PyopbenchLogHuberElementwise", Value);
PYOPBENCH_REGISTER("PyopbenchLogHuberElementwiseGradient", Gradient);

}  // namespace
