// The formulas that log_huber and log_huber_elementwise share, for m > 0:
// x^2 where |x| <= m, else m^2 (1 - 2 log m + log x^2).

#ifndef PYOPBENCH_KERNELS_LOG_HUBER_H_
#define PYOPBENCH_KERNELS_LOG_HUBER_H_

#include "common.h"
#include "vector_math.h"

namespace pyopbench {

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

}  // namespace pyopbench

#endif  // PYOPBENCH_KERNELS_LOG_HUBER_H_
