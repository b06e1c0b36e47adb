// sparse_conv_q: the windows of 2 x 2 pixels that see an active site, as rows of a matrix Q.
//
// Sites are scanned in their order; a window gets the next number when a site first falls into it. Memory goes with the
// sites and not with the image.

#include <vector>

#include "common.h"

namespace {

using namespace pyopbench;

constexpr int kFilter = 2, kCells = kFilter * kFilter;
constexpr int64_t kLargestExtent = int64_t{1} << 31;

// Numbers pairs (row, column) of less than 2^31 each in the order in which they come. Where the image has not many more
// pixels than there are pairs at the most, a table of all pixels is quicker; all else goes into one with open addressing.
class Numbers {
 public:
  Numbers(int64_t most, int64_t height, int64_t width) : most_(most), height_(height), width_(width) {
    if (height > 0 && width > 0 && height <= kPixelsPerPair * most / width) of_pixel_.assign(height * width, -1);
  }

  // Returns the number of a pair; `fresh` is whether it is the first time.
  int32_t Of(int64_t row, int64_t col, bool* fresh) {
    const bool inside = row >= 0 && col >= 0 && row < height_ && col < width_;
    int32_t* number = inside && !of_pixel_.empty() ? &of_pixel_[row * width_ + col] : Find(row, col);
    *fresh = *number < 0;
    if (*fresh) *number = count_++;
    return *number;
  }

 private:
  static constexpr int64_t kPixelsPerPair = 32;
  struct Slot {
    uint64_t key = 0;
    int32_t number = -1;
  };

  int32_t* Find(int64_t row, int64_t col) {
    if (slots_.empty()) {
      int bits = 4;
      while (int64_t{1} << bits < 2 * most_ + 2) ++bits;
      slots_.resize(size_t{1} << bits);
      shift_ = 64 - bits;
    }
    const uint64_t key = static_cast<uint64_t>(row) << 32 | static_cast<uint32_t>(col);
    // Of a product it is the upper bits that all of the key's bits have a part in.
    for (size_t place = (key * 0x9E3779B97F4A7C15u) >> shift_;; ++place) {
      Slot& slot = slots_[place & (slots_.size() - 1)];
      if (slot.number < 0) slot.key = key;
      if (slot.key == key) return &slot.number;
    }
  }

  const int64_t most_, height_, width_;
  std::vector<int32_t> of_pixel_;
  std::vector<Slot> slots_;
  int32_t count_ = 0;
  int shift_ = 0;
};

// What a scan of the sites finds: the corners of the windows, two numbers each, and the cells of Q that each site fills,
// four each, -1 where a window would leave the image.
struct Scan {
  std::vector<int64_t> corners, cells;
  int64_t windows = 0;
};

template <typename Matrix>
tensorflow::Status ScanSites(const Matrix& sites, int64_t height, int64_t width, Scan* scan) {
  const int64_t count = sites.dimension(0);
  if (count > kLargestExtent / kCells) return InvalidArgument("more than 2^29 sites: ", count);
  Numbers seen(count, height, width), windows(count * kCells, height, width);
  scan->cells.assign(count * kCells, -1);
  scan->corners.resize(count * kCells * 2);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = sites(i, 0), col = sites(i, 1);
    if (std::max(row, col) >= kLargestExtent || std::min(row, col) <= -kLargestExtent) {
      return InvalidArgument("site ", i, " is beyond 2^31 pixels: (", row, ", ", col, ")");
    }
    bool fresh;
    seen.Of(row, col, &fresh);
    if (!fresh) return InvalidArgument("duplicate site (", row, ", ", col, ")");
    int64_t* cell = &scan->cells[i * kCells];
    for (int64_t r = row - kFilter + 1; r <= row; ++r) {
      for (int64_t c = col - kFilter + 1; c <= col; ++c, ++cell) {
        if (r < 0 || c < 0 || r > height - kFilter || c > width - kFilter) continue;
        *cell = windows.Of(r, c, &fresh) * int64_t{kCells} + (row - r) * kFilter + (col - c);
        if (!fresh) continue;
        scan->corners[2 * scan->windows] = r;
        scan->corners[2 * scan->windows++ + 1] = c;
      }
    }
  }
  return tensorflow::Status();
}

tensorflow::Status CheckInputs(OpKernelContext* context) {
  const TensorShape &sites = context->input(0).shape(), &values = context->input(1).shape(),
                    &extents = context->input(2).shape(), &ground = context->input(3).shape();
  if (sites.dims() != 2 || sites.dim_size(1) != 2) {
    return InvalidArgument("sites must be pairs (a, 2) and have shape ", sites.DebugString());
  }
  if (values.dims() != 2 || values.dim_size(0) != sites.dim_size(0)) {
    return InvalidArgument("values must be one row for each of ", sites.dim_size(0), " sites and have shape ",
                           values.DebugString());
  }
  if (extents.dims() != 1 || extents.dim_size(0) != 3) {
    return InvalidArgument("dense_shape must be (height, width, channels) and has shape ", extents.DebugString());
  }
  const auto extent = context->input(2).vec<int64_t>();
  if (extent(2) != values.dim_size(1) || std::max(extent(0), extent(1)) >= kLargestExtent) {
    return InvalidArgument("dense_shape must be below 2^31 pixels a side and have the ", values.dim_size(1),
                           " channels of the values, and is (", extent(0), ", ", extent(1), ", ", extent(2), ")");
  }
  if (ground.dims() != 1 || ground.dim_size(0) != values.dim_size(1)) {
    return InvalidArgument("ground_state must have the ", values.dim_size(1), " channels of the values, and has shape ",
                           ground.DebugString());
  }
  return tensorflow::Status();
}

tensorflow::Status CheckAndScan(OpKernelContext* context, Scan* scan) {
  TF_RETURN_IF_ERROR(CheckInputs(context));
  const auto extent = context->input(2).vec<int64_t>();
  return ScanSites(context->input(0).matrix<int64_t>(), extent(0), extent(1), scan);
}

template <typename T>
class Value : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Scan scan;
    OP_REQUIRES_OK(context, CheckAndScan(context, &scan));
    const int64_t windows = scan.windows, channels = context->input(1).dim_size(1), sites = context->input(1).dim_size(0);
    Tensor *corners = nullptr, *q = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({windows, 2}), &corners));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({windows, kCells * channels}), &q));
    std::copy_n(scan.corners.begin(), 2 * windows, corners->flat<int64_t>().data());
    const T* values = context->input(1).flat<T>().data();
    const T* ground = context->input(3).flat<T>().data();
    T* out = q->flat<T>().data();
    std::vector<T> background;
    for (int k = 0; k < kCells; ++k) background.insert(background.end(), ground, ground + channels);
    const T* row = background.data();
    const int64_t length = kCells * channels;
    Share(context, windows, length, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(row, length, out + i * length);
    });
    const int64_t* cells = scan.cells.data();
    Share(context, sites, kCells * channels, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin * kCells; i < end * kCells; ++i) {
        const T* value = values + i / kCells * channels;
        if (cells[i] >= 0) std::copy(value, value + channels, out + cells[i] * channels);
      }
    });
  }
};

// A site's gradient is the sum over the cells that it fills, at most four; the ground state's the sum over the cells that
// none fills, which are many, so that it is taken in double.
template <typename T>
class Gradient : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Scan scan;
    OP_REQUIRES_OK(context, CheckAndScan(context, &scan));
    const int64_t windows = scan.windows, channels = context->input(1).dim_size(1), sites = context->input(1).dim_size(0);
    const TensorShape expected({windows, kCells * channels});
    OP_REQUIRES(context, context->input(4).shape() == expected,
                InvalidArgument("dq must have shape ", expected.DebugString(), ", as q has, and has ",
                                context->input(4).shape().DebugString()));
    Tensor *by_values = nullptr, *by_ground = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, context->input(1).shape(), &by_values));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({channels}), &by_ground));
    const T* dq = context->input(4).flat<T>().data();
    T* d_values = by_values->flat<T>().data();
    std::vector<char> filled(windows * kCells);
    for (int64_t i = 0; i < sites; ++i) {
      for (int64_t c = 0; c < channels; ++c) d_values[i * channels + c] = 0;
      for (int k = 0; k < kCells; ++k) {
        const int64_t cell = scan.cells[i * kCells + k];
        if (cell < 0) continue;
        filled[cell] = 1;
        for (int64_t c = 0; c < channels; ++c) d_values[i * channels + c] += dq[cell * channels + c];
      }
    }
    std::vector<double> ground(channels);
    for (int64_t cell = 0; cell < windows * kCells; ++cell) {
      for (int64_t c = 0; c < channels && !filled[cell]; ++c) ground[c] += dq[cell * channels + c];
    }
    std::copy(ground.begin(), ground.end(), by_ground->flat<T>().data());
  }
};

tensorflow::Status ValueShapes(InferenceContext* context) {
  tensorflow::shape_inference::ShapeHandle shape;
  for (const auto& [input, rank] : {std::pair{0, 2}, {1, 2}, {2, 1}, {3, 1}}) {
    TF_RETURN_IF_ERROR(context->WithRank(context->input(input), rank, &shape));
  }
  const auto windows = context->UnknownDim();
  tensorflow::shape_inference::DimensionHandle channels;
  TF_RETURN_IF_ERROR(context->Multiply(context->Dim(shape, 0), kCells, &channels));
  context->set_output(0, context->Matrix(windows, 2));
  context->set_output(1, context->Matrix(windows, channels));
  return tensorflow::Status();
}

tensorflow::Status GradientShapes(InferenceContext* context) {
  context->set_output(0, context->input(1));
  context->set_output(1, context->input(3));
  return tensorflow::Status();
}

REGISTER_OP("PyopbenchSparseConvQ")
    .Input("sites: int64").Input("values: T").Input("dense_shape: int64").Input("ground_state: T")
    .Output("corners: int64").Output("q: T").Attr("T: {float, double}").SetShapeFn(ValueShapes);
REGISTER_OP("PyopbenchSparseConvQGradient")
    .Input("sites: int64").Input("values: T").Input("dense_shape: int64").Input("ground_state: T").Input("dq: T")
    .Output("d_values: T").Output("d_ground_state: T").Attr("T: {float, double}").SetShapeFn(GradientShapes);
PYOPBENCH_REGISTER("PyopbenchSparseConvQ", Value);
PYOPBENCH_REGISTER("PyopbenchSparseConvQGradient", Gradient);

}  // namespace
