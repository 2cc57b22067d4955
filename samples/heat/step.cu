// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// One step of the heat equation for a band of the field.

#include "band_shape.hpp"
#include "stencil.hpp"

namespace heat {

/// The values of neighbouring columns in one row.
struct strip {
  float at[columns_per_thread];
};

/// The columns of a thread. Column 0 and the last column of the field are its border.
struct column_range {
  unsigned begin;  ///< the first column
  unsigned last;   ///< the index of the field's last column, counted from `begin`
};

/// If `Wide`, addresses are aligned to 16 bytes and every thread has four columns.
template <bool Wide>
__device__ __forceinline__ strip load(float const* from, column_range columns) {
  strip made = {};
  if (Wide) {
    float4 const four = *reinterpret_cast<float4 const*>(from);
    made.at[0] = four.x;
    made.at[1] = four.y;
    made.at[2] = four.z;
    made.at[3] = four.w;
  } else {
    for (unsigned i = 0; i < columns_per_thread; ++i) {
      if (i <= columns.last) { made.at[i] = from[i]; }
    }
  }
  return made;
}

template <bool Wide>
__device__ __forceinline__ void store(strip const& from, float* to, column_range columns) {
  if (Wide) {
    // The next step comes after gigabytes of other data. So the L2 cache should rather keep the rows
    // that two blocks read.
    __stcs(reinterpret_cast<float4*>(to),
           make_float4(from.at[0], from.at[1], from.at[2], from.at[3]));
  } else {
    for (unsigned i = 0; i < columns_per_thread; ++i) {
      if (i <= columns.last) { to[i] = from.at[i]; }
    }
  }
}

/// Returns the strip `here` after the step.
/// @param from  The address of `here`.
template <bool Wide>
__device__ __forceinline__ strip relax_strip(strip const& north, strip const& here,
                                             strip const& south, float const* from,
                                             column_range columns, float alpha) {
  constexpr unsigned end = columns_per_thread - 1;
  // The border stays as it is, so its other neighbours are not needed.
  float const west = columns.begin == 0 ? 0.0f : *(from - 1);
  float const east = columns.last <= end ? 0.0f : from[columns_per_thread];
  strip made;
  for (unsigned i = 0; i < columns_per_thread; ++i) {
    float const left = i == 0 ? west : here.at[i == 0 ? 0 : i - 1];
    float const right = i == end ? east : here.at[i == end ? end : i + 1];
    float const relaxed = relax(here.at[i], north.at[i], south.at[i], left, right, alpha);
    bool const may_be_last = !Wide || i == end;
    bool const on_border = (i == 0 && columns.begin == 0) || (may_be_last && i == columns.last);
    made.at[i] = on_border ? here.at[i] : relaxed;
  }
  return made;
}

/// The work of one thread: its columns of up to `rows_per_thread` rows, from above to below. Each
/// row is loaded once, one row ahead of need, and stays in registers while it is the row below, the
/// row itself and the row above.
template <bool Wide>
__device__ __forceinline__ void step_rows(float const* __restrict__ in,
                                          float const* __restrict__ above,
                                          float const* __restrict__ below, float* __restrict__ out,
                                          float* __restrict__ first, float* __restrict__ last,
                                          band_shape const& band, float alpha) {
  unsigned const x = (blockIdx.x * threads_per_block + threadIdx.x) * columns_per_thread;
  if (x >= band.columns) { return; }
  column_range const columns{x, band.columns - 1 - x};
  unsigned const begin = blockIdx.y * rows_per_thread;
  unsigned const end = begin + rows_per_thread < band.rows ? begin + rows_per_thread : band.rows;
  unsigned long long const pitch = band.columns;

  float const* from = in + begin * pitch + x;
  float* to = out + begin * pitch + x;
  strip north = load<Wide>(begin == 0 ? above + x : from - pitch, columns);
  strip here = load<Wide>(from, columns);
  strip south = load<Wide>(begin + 1 == band.rows ? below + x : from + pitch, columns);
  for (unsigned r = begin; r < end; ++r, from += pitch, to += pitch) {
    strip ahead = {};
    if (r + 1 < end) {
      ahead = load<Wide>(r + 2 == band.rows ? below + x : from + 2 * pitch, columns);
    }
    bool const on_border = r < band.inner_begin || r >= band.inner_end;
    strip const made =
        on_border ? here : relax_strip<Wide>(north, here, south, from, columns, alpha);
    store<Wide>(made, to, columns);
    if (r == 0) { store<Wide>(made, first + x, columns); }
    if (r + 1 == band.rows) { store<Wide>(made, last + x, columns); }
    north = here;
    here = south;
    south = ahead;
  }
}

__device__ __forceinline__ bool is_aligned(float const* address) {
  return reinterpret_cast<unsigned long long>(address) % sizeof(float4) == 0;
}

}  // namespace heat

/// Reads a band and the rows above and below it, and writes the band after one step, and its first
/// and its last row once more. At the border of the field, `above` or `below` may be any row.
///
/// The kernel waits for memory, so a multiprocessor needs many threads. With five blocks, a thread
/// has 48 registers. The kernel and its twin do with them; with six blocks, nvcc 13.0 spills.
extern "C" __global__ void __launch_bounds__(heat::threads_per_block, 5)
    heat_step(float const* __restrict__ in, float const* __restrict__ above,
              float const* __restrict__ below, float* __restrict__ out, float* __restrict__ first,
              float* __restrict__ last, heat::band_shape band, float alpha) {
  bool const wide = band.columns % heat::columns_per_thread == 0 && heat::is_aligned(in) &&
                    heat::is_aligned(above) && heat::is_aligned(below) && heat::is_aligned(out) &&
                    heat::is_aligned(first) && heat::is_aligned(last);
  if (wide) {
    heat::step_rows<true>(in, above, below, out, first, last, band, alpha);
  } else {
    heat::step_rows<false>(in, above, below, out, first, last, band, alpha);
  }
}
