// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arithmetic: the math library, and CUDA's intrinsics for bits, integers, floats and conversions.
/// On CPU devices, the fast float intrinsics such as __expf call the accurate functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <limits.h>
#include <math.h>
#include <stdlib.h>

// Minimum and maximum. As in CUDA, the two arguments may have different types.
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr std::common_type_t<A, B> min(
    A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
  }
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr std::common_type_t<A, B> max(
    A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
  }
}

// Bits.
constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
constexpr int __ffs(int x) { return __builtin_ffs(x); }
constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
constexpr unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
constexpr unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
/// Hexadecimal digit i of `selector` determines byte i of the result: the low three bits of the
/// digit select one of the eight bytes of `high:low`. If the top bit of the digit is clear, byte i
/// is the selected byte. Otherwise all eight bits of byte i are copies of the sign bit of the
/// selected byte.
constexpr unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  // The most frequent selector.
  if (__builtin_constant_p(selector) && selector == 0x0123) { return __builtin_bswap32(low); }
  std::uint64_t const bytes = static_cast<std::uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned const digit = selector >> 4 * i & 0xfu;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (digit & 7u)) & 0xffu;
    if (digit & 8u) { byte = byte & 0x80u ? 0xffu : 0u; }
    result |= byte << 8 * i;
  }
  return result;
}
constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31u) >>
                               32);
}
constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31u));
}
constexpr unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
constexpr unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// Integers.
namespace flotilla::cpu::language {
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
}  // namespace flotilla::cpu::language

constexpr int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32);
}
constexpr unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
constexpr long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<flotilla::cpu::language::int128>(a) * b >> 64);
}
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<flotilla::cpu::language::uint128>(a) * b >>
                                         64);
}
constexpr unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
constexpr int __mul24(int a, int b) {
  // Multiplies the low 24 bits as signed numbers and returns the low 32 bits of the product.
  std::int64_t const x = static_cast<int>(static_cast<unsigned>(a) << 8) >> 8;
  std::int64_t const y = static_cast<int>(static_cast<unsigned>(b) << 8) >> 8;
  return static_cast<int>(static_cast<std::uint32_t>(x * y));
}
constexpr unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a < b ? b - a : a - b) + c;
}
constexpr unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                : static_cast<unsigned>(a) - static_cast<unsigned>(b)) +
         c;
}

// Conversions between floating-point numbers and their bits.
constexpr int __float_as_int(float x) { return std::bit_cast<int>(x); }
constexpr unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
constexpr float __int_as_float(int x) { return std::bit_cast<float>(x); }
constexpr float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
constexpr long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
constexpr double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
constexpr int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
constexpr int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
constexpr double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

namespace flotilla::cpu::language {

/// Converts like a GPU: a value outside the range of `To` becomes the nearest value in the range,
/// and NaN becomes zero.
template <class To, class From>
constexpr To saturating_cast(From x) {
  constexpr From below = static_cast<From>(std::is_signed_v<To> ? -1 : 0);
  constexpr To least = std::is_signed_v<To> ? To(To{1} << (sizeof(To) * CHAR_BIT - 1)) : To{0};
  constexpr To greatest = static_cast<To>(~least);
  constexpr From limit = static_cast<From>(greatest / 2 + 1) * 2;  // a power of two, so exact
  if (x != x) { return To{0}; }
  if (x >= limit) { return greatest; }
  if (x < (below == 0 ? From{0} : -limit)) { return least; }
  return static_cast<To>(x);
}

}  // namespace flotilla::cpu::language

// Conversions with each rounding mode: to nearest even, towards zero, down, and up.
#define FLOTILLA_CONVERSIONS(name, from, to)                                \
  inline to name##_rn(from x) {                                             \
    return flotilla::cpu::language::saturating_cast<to>(std::nearbyint(x)); \
  }                                                                         \
  inline to name##_rz(from x) {                                             \
    return flotilla::cpu::language::saturating_cast<to>(std::trunc(x));     \
  }                                                                         \
  inline to name##_rd(from x) {                                             \
    return flotilla::cpu::language::saturating_cast<to>(std::floor(x));     \
  }                                                                         \
  inline to name##_ru(from x) { return flotilla::cpu::language::saturating_cast<to>(std::ceil(x)); }
FLOTILLA_CONVERSIONS(__float2int, float, int)
FLOTILLA_CONVERSIONS(__float2uint, float, unsigned)
FLOTILLA_CONVERSIONS(__float2ll, float, long long)
FLOTILLA_CONVERSIONS(__float2ull, float, unsigned long long)
FLOTILLA_CONVERSIONS(__double2int, double, int)
FLOTILLA_CONVERSIONS(__double2uint, double, unsigned)
FLOTILLA_CONVERSIONS(__double2ll, double, long long)
FLOTILLA_CONVERSIONS(__double2ull, double, unsigned long long)
#undef FLOTILLA_CONVERSIONS
constexpr float __int2float_rn(int x) { return static_cast<float>(x); }
constexpr float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
constexpr float __ll2float_rn(long long x) { return static_cast<float>(x); }
constexpr float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
constexpr double __int2double_rn(int x) { return x; }
constexpr double __uint2double_rn(unsigned x) { return x; }
constexpr double __ll2double_rn(long long x) { return static_cast<double>(x); }
constexpr double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
constexpr float __double2float_rn(double x) { return static_cast<float>(x); }

// Arithmetic with explicit rounding. Only rounding to nearest is supported, because that is the
// rounding mode of the host.
constexpr float __fadd_rn(float a, float b) { return a + b; }
constexpr float __fsub_rn(float a, float b) { return a - b; }
constexpr float __fmul_rn(float a, float b) { return a * b; }
constexpr float __fdiv_rn(float a, float b) { return a / b; }
constexpr float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
constexpr double __dadd_rn(double a, double b) { return a + b; }
constexpr double __dsub_rn(double a, double b) { return a - b; }
constexpr double __dmul_rn(double a, double b) { return a * b; }
constexpr double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
constexpr float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
constexpr float fdividef(float a, float b) { return a / b; }
constexpr float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
inline float sinpif(float x) { return static_cast<float>(std::sin(3.14159265358979323846 * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(3.14159265358979323846 * x)); }

// These are macros, because the C library declares functions with these names but does not export
// them.
#define __expf(x) ::expf(x)
#define __exp10f(x) ::powf(10.0f, x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
#define __powf(x, y) ::powf(x, y)
#define __sincosf(x, sine, cosine) static_cast<void>((*(sine) = ::sinf(x), *(cosine) = ::cosf(x)))

// On CPU devices, loads and stores with cache hints are plain loads and stores.
template <class T>
T __ldg(T const* address) {
  return *address;
}
template <class T>
T __ldcg(T const* address) {
  return *address;
}
template <class T>
T __ldcs(T const* address) {
  return *address;
}
template <class T>
void __stcg(T* address, T value) {
  *address = value;
}
template <class T>
void __stcs(T* address, T value) {
  *address = value;
}
