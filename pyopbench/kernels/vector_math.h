// Elementary functions that the compiler can call for a whole vector of numbers at once.
//
// glibc has vector versions of exp, log, sin and cos in libmvec since 2.22, right to 4 units in the last place
// (https://sourceware.org/glibc/wiki/libmvec). Its own headers offer them only under -ffast-math, which would also
// change what infinities and NaN do; so they are declared here. Elsewhere these are the usual functions.

#ifndef PYOPBENCH_KERNELS_VECTOR_MATH_H_
#define PYOPBENCH_KERNELS_VECTOR_MATH_H_

#include <cmath>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PYOPBENCH_VECTOR(function)                                                         \
  extern "C" __attribute__((__simd__("notinbranch"))) double function(double) noexcept;    \
  extern "C" __attribute__((__simd__("notinbranch"))) float function##f(float) noexcept;
PYOPBENCH_VECTOR(exp)
PYOPBENCH_VECTOR(log)
PYOPBENCH_VECTOR(sin)
PYOPBENCH_VECTOR(cos)
#undef PYOPBENCH_VECTOR
#endif

namespace pyopbench {

inline float Exp(float x) { return ::expf(x); }
inline double Exp(double x) { return ::exp(x); }
inline float Log(float x) { return ::logf(x); }
inline double Log(double x) { return ::log(x); }
inline float Sin(float x) { return ::sinf(x); }
inline double Sin(double x) { return ::sin(x); }
inline float Cos(float x) { return ::cosf(x); }
inline double Cos(double x) { return ::cos(x); }

// (e^x + e^-x) / 2. The root of e^x is squared, so that nothing overflows before the result does.
template <typename T>
inline T Cosh(T x) {
  const T root = Exp(std::abs(x) / 2);
  const T half = root * root / 2;
  return half + T(0.25) / half;
}

// (e^x - e^-x) / 2, and near 0, where these two cancel, x + x^3/3! + ... + x^19/19!, whose next term is below 1e-19.
// Both are computed, because vectors take no branches.
template <typename T>
inline T Sinh(T x) {
  const T square = x * x;
  T series = 1;
  for (int k = 9; k > 0; --k) series = 1 + series * square / T(2 * k * (2 * k + 1));
  const T root = Exp(std::abs(x) / 2);
  const T half = root * root / 2;
  const T far = std::copysign(half - T(0.25) / half, x);
  return std::abs(x) < 1 ? x * series : far;
}

}  // namespace pyopbench

#endif  // PYOPBENCH_KERNELS_VECTOR_MATH_H_
