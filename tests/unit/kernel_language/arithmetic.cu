// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls intrinsics and checks their results. `failures` receives the line number of each failed
// check.

#define EXPECT(condition) \
  if (!(condition)) { failures[atomicAdd(count, 1)] = __LINE__; }

extern "C" __global__ void check_bits(int* count, int* failures) {
  // volatile, so that the intrinsics are not computed at compile time
  unsigned volatile v = 0x12345678u;
  unsigned const x = v;
  EXPECT(__popc(x) == 13);
  EXPECT(__popcll(0xff00000000000001ull) == 9);
  EXPECT(__clz(static_cast<int>(x)) == 3 && __clz(0) == 32);
  EXPECT(__clzll(1) == 63 && __clzll(0) == 64);
  EXPECT(__ffs(8) == 4 && __ffs(0) == 0);
  EXPECT(__ffsll(1ll << 40) == 41);
  EXPECT(__brev(x) == 0x1e6a2c48u);
  EXPECT(__brevll(1) == 1ull << 63);
  EXPECT(__byte_perm(x, 0xaabbccddu, 0x0123) == 0x78563412u);
  EXPECT(__byte_perm(x, 0xaabbccddu, 0x7540) == 0xaaccdd78u);
  EXPECT(__byte_perm(x, 0x80u, 0xc) == 0x787878ffu);
  EXPECT(__funnelshift_l(0x80000000u, 1u, 1) == 3u);
  EXPECT(__funnelshift_r(0x80000000u, 1u, 1) == 0xc0000000u);
  EXPECT(__funnelshift_r(x, x, 8) == 0x78123456u);
  EXPECT(__funnelshift_lc(7u, 9u, 32) == 7u && __funnelshift_rc(7u, 9u, 40) == 9u);
  EXPECT(__mulhi(-2, 3) == -1 && __umulhi(0x80000000u, 4u) == 2u);
  EXPECT(__mul64hi(-1ll, 2) == -1 && __umul64hi(1ull << 63, 6) == 3);
  EXPECT(__mul24(-3, 5) == -15 && __umul24(0xff000002u, 3u) == 6u);
  EXPECT(__sad(-3, 4, 1u) == 8u && __usad(2u, 5u, 1u) == 4u);
  EXPECT(min(3, -2) == -2 && max(3u, 4u) == 4u && min(2.5f, 1.0f) == 1.0f && max(1ll, 2ll) == 2);
}

extern "C" __global__ void check_floats(int* count, int* failures) {
  float volatile v = 2.25f;
  float const x = v;
  EXPECT(__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f);
  EXPECT(__float_as_uint(-0.0f) == 0x80000000u && __uint_as_float(0x3f800000u) == 1.0f);
  EXPECT(__double_as_longlong(1.0) == 0x3ff0000000000000ll &&
         __longlong_as_double(0x4000000000000000ll) == 2.0);
  EXPECT(__hiloint2double(0x3ff00000, 0) == 1.0 && __double2hiint(1.0) == 0x3ff00000 &&
         __double2loint(1.0) == 0);
  EXPECT(__float2int_rn(2.5f) == 2 && __float2int_rz(-2.5f) == -2 && __float2int_rd(-2.5f) == -3);
  EXPECT(__float2int_ru(x) == 3 && __float2uint_rn(3.5f) == 4u);
  EXPECT(__float2int_rz(3e9f) == 2147483647 && __float2int_rz(-3e9f) == -2147483647 - 1);
  EXPECT(__float2int_rz(__int_as_float(0x7fc00000)) == 0 && __float2uint_rz(-1.0f) == 0u);
  EXPECT(__double2ll_rz(-1e18) == -1000000000000000000ll && __double2ull_rn(1.5) == 2ull);
  EXPECT(__saturatef(x) == 1.0f && __saturatef(-1.0f) == 0.0f && __saturatef(0.5f) == 0.5f);
  EXPECT(__saturatef(__int_as_float(0x7fc00000)) == 0.0f);
  EXPECT(__fmaf_rn(x, 2.0f, 1.0f) == 5.5f && __fadd_rn(x, 1.0f) == 3.25f &&
         __fmul_rn(x, 2.0f) == 4.5f);
  EXPECT(fabsf(rsqrtf(x) - 1.0f / 1.5f) < 1e-6f && fabs(rsqrt(4.0) - 0.5) < 1e-12);
  EXPECT(sqrtf(x) == 1.5f && __fsqrt_rn(x) == 1.5f && __frcp_rn(4.0f) == 0.25f);
  EXPECT(fabsf(__expf(1.0f) - 2.7182818f) < 1e-4f && fabsf(__logf(x) - 0.81093f) < 1e-4f);
  EXPECT(fabsf(__sinf(1.0f) - sinf(1.0f)) < 1e-5f && fabsf(__powf(x, 2.0f) - 5.0625f) < 1e-3f);
  EXPECT(fabsf(sinpif(0.5f) - 1.0f) < 1e-6f && fabsf(__fdividef(x, 2.0f) - 1.125f) < 1e-6f);
  float sine, cosine;
  sincosf(1.0f, &sine, &cosine);
  EXPECT(fabsf(sine * sine + cosine * cosine - 1.0f) < 1e-6f);
  EXPECT(fmaxf(x, 1.0f) == x && fminf(x, 1.0f) == 1.0f && isnan(sqrtf(-x)) && abs(-3) == 3 &&
         fabs(-2.0) == 2.0);
}

extern "C" __global__ void check_vectors(int* count, int* failures) {
  float4 const f = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
  EXPECT(f.x + f.y + f.z + f.w == 10.0f);
  EXPECT(sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(float4) == 16 &&
         alignof(float4) == 16);
  EXPECT(alignof(int2) == 8 && alignof(uchar4) == 4 && sizeof(uchar4) == 4 &&
         alignof(double2) == 16);
  EXPECT(sizeof(short3) == 6 && alignof(ushort4) == 8 && alignof(longlong2) == 16 &&
         sizeof(char1) == 1);
  dim3 const d(2, 3);
  EXPECT(d.x == 2 && d.y == 3 && d.z == 1);
  EXPECT(warpSize == 32);
  __align__(16) unsigned char raw[32];
  EXPECT(reinterpret_cast<unsigned long long>(raw) % 16 == 0);
  int const number = 5;
  EXPECT(__ldg(&number) == 5);
}
