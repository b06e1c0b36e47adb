// sparse_conv_q: the windows of 2 x 2 pixels that see an active site, as rows of a matrix Q.
//
// Sites are scanned in their order; a window gets the next number when a site first falls into it. Memory goes with the
// sites and not with the image.

#include <memory>
#include <unordered_set>
#include <vector>

#include "common.h"

namespace {

using namespace pyopbench;

constexpr int kFilter = 2, kCells = kFilter * kFilter;
constexpr int64_t kLargestExtent = int64_t{1} << 31;
constexpr int64_t kMostSites = int64_t{1} << 26;  // their windows have up to 2^30 cells, which an int32 can number

struct Pixel {
  int32_t row, col;
  uint64_t key() const { return static_cast<uint64_t>(row) << 32 | static_cast<uint32_t>(col); }
};

// A number for each pixel that is asked for, -1 at first. Open addressing: memory goes with what is asked for.
class Hashed {
 public:
  explicit Hashed(int64_t most) {
    int bits = 4;
    while (int64_t{1} << bits < 2 * most + 2) ++bits;
    slots_.resize(size_t{1} << bits);
    shift_ = 64 - bits;
  }
  int32_t& Of(Pixel pixel) {
    const uint64_t key = pixel.key();
    // Of a product it is the upper bits that all of the key's bits have a part in.
    for (size_t place = (key * 0x9E3779B97F4A7C15u) >> shift_;; ++place) {
      Slot& slot = slots_[place & (slots_.size() - 1)];
      if (slot.number < 0) slot.key = key;
      if (slot.key == key) return slot.number;
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    int32_t number = -1;
  };
  std::vector<Slot> slots_;
  int shift_;
};

// The same from a table of all pixels, which is quicker where they are not many more than are asked for.
class Tabulated {
 public:
  static constexpr int64_t kPixelsPerSite = 128;
  Tabulated(int64_t height, int64_t width) : width_(width), numbers_(height * width, -1) {}
  int32_t& Of(Pixel pixel) { return numbers_[pixel.row * width_ + pixel.col]; }

 private:
  const int64_t width_;
  std::vector<int32_t> numbers_;
};

// What a scan of the sites finds: the corner of each window and which of its cells have a site (bit k is cell k), and
// the cells of Q that each site fills, four each, -1 where the window would leave the image.
struct Scan {
  explicit Scan(int64_t sites)
      : corners(new Pixel[sites * kCells]), filled(new uint8_t[sites * kCells]), cells(new int32_t[sites * kCells]) {}
  int32_t windows = 0;
  std::unique_ptr<Pixel[]> corners;
  std::unique_ptr<uint8_t[]> filled;
  std::unique_ptr<int32_t[]> cells;
};

// A site that no window sees is looked for among its like; any other has come before if the cells that it fills are full.
template <typename Numbers, typename Matrix>
tensorflow::Status Visit(const Matrix& sites, int64_t height, int64_t width, Numbers numbers, Scan* scan) {
  std::unordered_set<uint64_t> unseen;
  Pixel* const corners = scan->corners.get();
  uint8_t* const filled = scan->filled.get();
  int32_t *cell = scan->cells.get(), windows = 0;
  for (int64_t i = 0; i < sites.dimension(0); ++i) {
    const int64_t row = sites(i, 0), col = sites(i, 1);
    if (std::max(row, col) >= kLargestExtent || std::min(row, col) <= -kLargestExtent) {
      return InvalidArgument("site ", i, " is beyond 2^31 pixels: (", row, ", ", col, ")");
    }
    bool seen = false, again = false;
    for (int k = kCells - 1; k >= 0; --k, ++cell) {
      const int64_t r = row - k / kFilter, c = col - k % kFilter;
      *cell = -1;
      if (r < 0 || c < 0 || r > height - kFilter || c > width - kFilter) continue;
      const Pixel corner = {static_cast<int32_t>(r), static_cast<int32_t>(c)};
      int32_t& number = numbers.Of(corner);
      if (number < 0) {
        corners[windows] = corner;
        filled[windows] = 0;
        number = windows++;
      }
      seen = true;
      again = filled[number] >> k & 1;
      filled[number] |= 1 << k;
      *cell = number * kCells + k;
    }
    if (!seen) again = !unseen.insert(Pixel{static_cast<int32_t>(row), static_cast<int32_t>(col)}.key()).second;
    if (again) return InvalidArgument("duplicate site (", row, ", ", col, ")");
  }
  scan->windows = windows;
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
  if (sites.dim_size(0) > kMostSites) return InvalidArgument("more than 2^26 sites: ", sites.dim_size(0));
  if (ground.dims() != 1 || ground.dim_size(0) != values.dim_size(1)) {
    return InvalidArgument("ground_state must have the ", values.dim_size(1), " channels of the values, and has shape ",
                           ground.DebugString());
  }
  return tensorflow::Status();
}

// Returns nothing, with the context's status set, if the inputs are not right.
std::unique_ptr<Scan> ScanSites(OpKernelContext* context) {
  const tensorflow::Status right = CheckInputs(context);
  if (!right.ok()) return context->SetStatus(right), nullptr;
  const auto sites = context->input(0).matrix<int64_t>();
  const auto extent = context->input(2).vec<int64_t>();
  const int64_t count = sites.dimension(0);
  const int64_t height = std::max<int64_t>(extent(0), 0), width = std::max<int64_t>(extent(1), 0);
  std::unique_ptr<Scan> scan(new Scan(count));
  const bool few = height > 0 && width > 0 && height <= Tabulated::kPixelsPerSite * count / width;
  const tensorflow::Status done = few ? Visit(sites, height, width, Tabulated(height, width), scan.get())
                                      : Visit(sites, height, width, Hashed(count * kCells), scan.get());
  if (!done.ok()) return context->SetStatus(done), nullptr;
  return scan;
}

template <typename T>
class Value : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const auto scan = ScanSites(context);
    if (!scan) return;
    const int64_t windows = scan->windows, channels = context->input(1).dim_size(1);
    const int64_t length = kCells * channels;
    Tensor *corners = nullptr, *q = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({windows, 2}), &corners));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({windows, length}), &q));
    const T* values = context->input(1).flat<T>().data();
    const T* ground = context->input(3).flat<T>().data();
    std::vector<T> background;
    for (int k = 0; k < kCells; ++k) background.insert(background.end(), ground, ground + channels);
    int64_t* pairs = corners->flat<int64_t>().data();
    T* out = q->flat<T>().data();
    Share(context, windows, length, [&scan, &background, pairs, out, length](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pairs[2 * i] = scan->corners[i].row;
        pairs[2 * i + 1] = scan->corners[i].col;
        std::copy_n(background.data(), length, out + i * length);
      }
    });
    const int32_t* cells = scan->cells.get();
    Share(context, context->input(1).dim_size(0), length, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin * kCells; i < end * kCells; ++i) {
        if (cells[i] < 0) continue;
        for (int64_t c = 0; c < channels; ++c) out[int64_t{cells[i]} * channels + c] = values[i / kCells * channels + c];
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
    const auto scan = ScanSites(context);
    if (!scan) return;
    const int64_t windows = scan->windows, channels = context->input(1).dim_size(1);
    const TensorShape expected({windows, kCells * channels});
    OP_REQUIRES(context, context->input(4).shape() == expected,
                InvalidArgument("dq must have shape ", expected.DebugString(), ", as q has, and has ",
                                context->input(4).shape().DebugString()));
    Tensor *by_values = nullptr, *by_ground = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, context->input(1).shape(), &by_values));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({channels}), &by_ground));
    const T* dq = context->input(4).flat<T>().data();
    T* d_values = by_values->flat<T>().data();
    for (int64_t i = 0; i < context->input(1).dim_size(0); ++i) {
      for (int64_t c = 0; c < channels; ++c) d_values[i * channels + c] = 0;
      for (int k = 0; k < kCells; ++k) {
        const int64_t cell = scan->cells[i * kCells + k];
        for (int64_t c = 0; c < channels && cell >= 0; ++c) d_values[i * channels + c] += dq[cell * channels + c];
      }
    }
    std::vector<double> ground(channels);
    for (int64_t cell = 0; cell < windows * kCells; ++cell) {
      if (scan->filled[cell / kCells] >> cell % kCells & 1) continue;
      for (int64_t c = 0; c < channels; ++c) ground[c] += dq[cell * channels + c];
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
