// determinant: of each 4 x 4 matrix of a batch, by its 2 x 2 minors.
//
// A determinant is a sum over products of a minor of the first two rows with one of the last two (Laplace's expansion),
// and its gradient is the matrix of cofactors, which the same minors give (Jacobi's formula). Other than det(x) x^-T the
// cofactors exist for a singular matrix too. No pivots are chosen: for a matrix whose entries differ by many orders of
// magnitude an LU decomposition loses less.

#include "common.h"

namespace {

using namespace pyopbench;

constexpr int kOrder = 4, kEntries = kOrder * kOrder, kCycles = 60;

template <typename T>
struct Minors {
  // Of rows r and r + 1: columns 01, 02, 03, 12, 13, 23.
  explicit Minors(const T* row) {
    const T* next = row + kOrder;
    int i = 0;
    for (int a = 0; a < kOrder; ++a) {
      for (int b = a + 1; b < kOrder; ++b) of[i++] = row[a] * next[b] - next[a] * row[b];
    }
  }
  T of[6];
};

template <typename T>
T Determinant(const T* x) {
  const Minors<T> s(x), c(x + 2 * kOrder);
  return s.of[0] * c.of[5] - s.of[1] * c.of[4] + s.of[2] * c.of[3] + s.of[3] * c.of[2] - s.of[4] * c.of[1] +
         s.of[5] * c.of[0];
}

// The cofactors of one row: `row` is the other row of the same pair, `minors` are of the other pair.
template <typename T>
void Cofactors(const T* row, const Minors<T>& minors, T factor, T* found) {
  const T* m = minors.of;
  found[0] = factor * (row[1] * m[5] - row[2] * m[4] + row[3] * m[3]);
  found[1] = -factor * (row[0] * m[5] - row[2] * m[2] + row[3] * m[1]);
  found[2] = factor * (row[0] * m[4] - row[1] * m[2] + row[3] * m[0]);
  found[3] = -factor * (row[0] * m[3] - row[1] * m[1] + row[2] * m[0]);
}

tensorflow::Status Shapes(InferenceContext* context) {
  tensorflow::shape_inference::ShapeHandle x, batch;
  TF_RETURN_IF_ERROR(context->WithRankAtLeast(context->input(0), 2, &x));
  for (int axis : {-1, -2}) {
    tensorflow::shape_inference::DimensionHandle side;
    TF_RETURN_IF_ERROR(context->WithValue(context->Dim(x, axis), kOrder, &side));
  }
  TF_RETURN_IF_ERROR(context->Subshape(x, 0, -2, &batch));
  if (context->num_inputs() == 2) TF_RETURN_IF_ERROR(context->Merge(batch, context->input(1), &batch));
  context->set_output(0, context->num_inputs() == 2 ? x : batch);
  return tensorflow::Status();
}

tensorflow::Status BatchOf(const TensorShape& shape, TensorShape* batch) {
  const int dims = shape.dims();
  if (dims < 2 || shape.dim_size(dims - 1) != kOrder || shape.dim_size(dims - 2) != kOrder) {
    return InvalidArgument("x must be matrices of 4 x 4 and has shape ", shape.DebugString());
  }
  *batch = shape;
  batch->RemoveLastDims(2);
  return tensorflow::Status();
}

template <typename T>
class Value : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    TensorShape batch;
    OP_REQUIRES_OK(context, BatchOf(input.shape(), &batch));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, batch, &output));
    const T* x = input.flat<T>().data();
    T* y = output->flat<T>().data();
    Share(context, batch.num_elements(), kCycles, [x, y](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = Determinant(x + i * kEntries);
    });
  }
};

template <typename T>
class Gradient : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const TensorShape shape = context->input(0).shape();
    TensorShape batch;
    OP_REQUIRES_OK(context, BatchOf(shape, &batch));
    OP_REQUIRES(context, context->input(1).shape() == batch,
                InvalidArgument("dy must have shape ", batch.DebugString(), ", as the determinants have, and has ",
                                context->input(1).shape().DebugString()));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    const T* x = context->input(0).flat<T>().data();
    const T* dy = context->input(1).flat<T>().data();
    T* dx = output->flat<T>().data();
    Share(context, batch.num_elements(), 2 * kCycles, [x, dy, dx](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* rows = x + i * kEntries;
        T* found = dx + i * kEntries;
        const Minors<T> upper(rows), lower(rows + 2 * kOrder);
        Cofactors(rows + kOrder, lower, dy[i], found);
        Cofactors(rows, lower, -dy[i], found + kOrder);
        Cofactors(rows + 3 * kOrder, upper, dy[i], found + 2 * kOrder);
        Cofactors(rows + 2 * kOrder, upper, -dy[i], found + 3 * kOrder);
      }
    });
  }
};

REGISTER_OP("PyopbenchDeterminant").Input("x: T").Output("y: T").Attr("T: {float, double}").SetShapeFn(Shapes);
REGISTER_OP("PyopbenchDeterminantGradient")
    .Input("x: T").Input("dy: T").Output("dx: T").Attr("T: {float, double}").SetShapeFn(Shapes);
PYOPBENCH_REGISTER("PyopbenchDeterminant", Value);
PYOPBENCH_REGISTER("PyopbenchDeterminantGradient", Gradient);

}  // namespace
