// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CUDA's vector types. Their sizes and alignments must be the same as in the CUDA toolkit, because
/// host code that uses the toolkit's types passes them as kernel arguments.

#define FLOTILLA_VECTOR_TYPES(element, name, align2, align4)                              \
  struct name##1 {                                                                        \
    element x;                                                                            \
  };                                                                                      \
  struct __attribute__((aligned(align2))) name##2 {                                       \
    element x, y;                                                                         \
  };                                                                                      \
  struct name##3 {                                                                        \
    element x, y, z;                                                                      \
  };                                                                                      \
  struct __attribute__((aligned(align4))) name##4 {                                       \
    element x, y, z, w;                                                                   \
  };                                                                                      \
  constexpr name##1 make_##name##1(element x) { return {x}; }                             \
  constexpr name##2 make_##name##2(element x, element y) { return {x, y}; }               \
  constexpr name##3 make_##name##3(element x, element y, element z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(element x, element y, element z, element w) {          \
    return {x, y, z, w};                                                                  \
  }

FLOTILLA_VECTOR_TYPES(signed char, char, 2, 4)
FLOTILLA_VECTOR_TYPES(unsigned char, uchar, 2, 4)
FLOTILLA_VECTOR_TYPES(short, short, 4, 8)
FLOTILLA_VECTOR_TYPES(unsigned short, ushort, 4, 8)
FLOTILLA_VECTOR_TYPES(int, int, 8, 16)
FLOTILLA_VECTOR_TYPES(unsigned, uint, 8, 16)
FLOTILLA_VECTOR_TYPES(long, long, 16, 16)
FLOTILLA_VECTOR_TYPES(unsigned long, ulong, 16, 16)
FLOTILLA_VECTOR_TYPES(long long, longlong, 16, 16)
FLOTILLA_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
FLOTILLA_VECTOR_TYPES(float, float, 8, 16)
FLOTILLA_VECTOR_TYPES(double, double, 16, 16)
#undef FLOTILLA_VECTOR_TYPES

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
