// Elementary functions that the compiler can call for a whole vector of numbers at once.
//
// glibc has vector versions of exp, log, sin and cos in libmvec since 2.22, right to 4 units in the last place
// (https://sourceware.org/glibc/wiki/libmvec). Its own headers offer them only under -ffast-math, which would also
// change what infinities and NaN do; so they are declared here. Elsewhere these are the usual functions; on a GPU they are
// CUDA's, sinh and cosh too, right to 3 units at the most
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#mathematical-functions-appendix).

#ifndef PYOPBENCH_KERNELS_VECTOR_MATH_H_
#define PYOPBENCH_KERNELS_VECTOR_MATH_H_

#include <cstring>

#include "formulas.h"

#if !defined(__CUDACC__) && defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
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

PYOPBENCH_DEVICE inline float Exp(float x) { return ::expf(x); }
PYOPBENCH_DEVICE inline double Exp(double x) { return ::exp(x); }
PYOPBENCH_DEVICE inline float Log(float x) { return ::logf(x); }
PYOPBENCH_DEVICE inline double Log(double x) { return ::log(x); }
PYOPBENCH_DEVICE inline float Sin(float x) { return ::sinf(x); }
PYOPBENCH_DEVICE inline double Sin(double x) { return ::sin(x); }
PYOPBENCH_DEVICE inline float Cos(float x) { return ::cosf(x); }
PYOPBENCH_DEVICE inline double Cos(double x) { return ::cos(x); }

#ifdef __CUDACC__

PYOPBENCH_DEVICE inline float Sinh(float x) { return ::sinhf(x); }
PYOPBENCH_DEVICE inline double Sinh(double x) { return ::sinh(x); }
PYOPBENCH_DEVICE inline float Cosh(float x) { return ::coshf(x); }
PYOPBENCH_DEVICE inline double Cosh(double x) { return ::cosh(x); }

#else

// How a type is made up, and numbers for SinhCosh: ln 2 in two parts, of which the first has so few bits that its product
// with a whole number is exact (Cody and Waite, Software Manual for the Elementary Functions, 1980); a number that is so
// large that a sum with it is whole; and one from which on sinh is infinite.
template <typename T>
struct Parts;
template <>
struct Parts<float> {
  using Bits = int32_t;
  static constexpr Bits kMantissa = 23, kBias = 127;
  static constexpr int kTerms = 4;
  static constexpr float kHigh = 0x1.63p-1f, kLow = -0x1.bd0106p-13f, kWhole = 0x1.8p23f, kLargest = 89.5f;
};
template <>
struct Parts<double> {
  using Bits = int64_t;
  static constexpr Bits kMantissa = 52, kBias = 1023;
  static constexpr int kTerms = 7;
  static constexpr double kHigh = 0x1.62e42fp-1, kLow = 0x1.df473de6af279p-26, kWhole = 0x1.8p52, kLargest = 710.5;
};

template <typename To, typename From>
inline To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits are copied one to one");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Returns 2^n, and 2^-126 (2^-1022 of a double) where it is less.
template <typename T>
inline T PowerOf2(typename Parts<T>::Bits n) {
  const typename Parts<T>::Bits least = 1 - Parts<T>::kBias;
  return BitsOf<T>(((n < least ? least : n) + Parts<T>::kBias) << Parts<T>::kMantissa);
}

// sinh and cosh of |x| = n ln 2 + r with |r| <= ln 2 / 2, by the theorems of addition: those of r are the first terms of
// their series, those of n ln 2 are (2^n -+ 2^-n) / 2. So there is neither a branch nor a quotient nor a difference of
// two numbers that are almost equal, and it is right to 4 units in the last place (test_register.py). Powers are
// a quarter of what they should be, so that nothing overflows before the result does.
template <typename T>
struct SinhCosh {
  explicit SinhCosh(T x) {
    using P = Parts<T>;
    const T positive = std::abs(x), size = positive > P::kLargest ? P::kLargest : positive;
    const T shifted = size * T(1.4426950408889634) + P::kWhole, whole = shifted - P::kWhole;
    const auto n = BitsOf<typename P::Bits>(shifted) - BitsOf<typename P::Bits>(T(P::kWhole));
    const T r = size - whole * P::kHigh - whole * P::kLow, square = r * r;
    constexpr double kOdd[] = {1, 1 / 6., 1 / 120., 1 / 5040., 1 / 362880., 1 / 39916800., 1 / 6227020800.};
    constexpr double kEven[] = {1, 1 / 2., 1 / 24., 1 / 720., 1 / 40320., 1 / 3628800., 1 / 479001600.};
    T odd = 0, even = 0;
    for (int k = P::kTerms - 1; k > 0; --k) {
      odd = (odd + T(kOdd[k])) * square;
      even = (even + T(kEven[k])) * square;
    }
    odd = r + r * odd;
    even = 1 + even;
    const T grown = PowerOf2<T>(n - 2), shrunk = PowerOf2<T>(-n - 2);
    const T difference = grown - shrunk, sum = grown + shrunk;
    sinh = std::copysign(2 * (even * difference + odd * sum), x);
    cosh = 2 * (even * sum + odd * difference);
  }
  T sinh, cosh;
};

template <typename T>
inline T Sinh(T x) {
  return SinhCosh<T>(x).sinh;
}
template <typename T>
inline T Cosh(T x) {
  return SinhCosh<T>(x).cosh;
}

#endif  // __CUDACC__

}  // namespace pyopbench

#endif  // PYOPBENCH_KERNELS_VECTOR_MATH_H_
