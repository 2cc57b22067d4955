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

/// Where a thread works: at `count` columns from column `x`.
struct column_range {
  unsigned x, count;
};

/// If `Wide`, rows are aligned to 16 bytes and every thread has four columns.
template <bool Wide>
__device__ __forceinline__ strip load(float const* row, column_range where) {
  strip made = {};
  if (Wide) {
    float4 const four = *reinterpret_cast<float4 const*>(row + where.x);
    made.at[0] = four.x;
    made.at[1] = four.y;
    made.at[2] = four.z;
    made.at[3] = four.w;
  } else {
    for (unsigned i = 0; i < columns_per_thread; ++i) {
      if (i < where.count) { made.at[i] = row[where.x + i]; }
    }
  }
  return made;
}

template <bool Wide>
__device__ __forceinline__ void store(strip const& from, float* row, column_range where) {
  if (Wide) {
    *reinterpret_cast<float4*>(row + where.x) =
        make_float4(from.at[0], from.at[1], from.at[2], from.at[3]);
  } else {
    for (unsigned i = 0; i < columns_per_thread; ++i) {
      if (i < where.count) { row[where.x + i] = from.at[i]; }
    }
  }
}

/// Returns the strip `here` after the step. `row` is the row of `here`.
__device__ __forceinline__ strip relax_strip(strip const& north, strip const& here,
                                             strip const& south, float const* row,
                                             column_range where, unsigned columns, float alpha) {
  // Columns 0 and `columns` - 1 are the border, which stays as it is. So their other neighbours are
  // not needed.
  unsigned const last = columns - 1;
  unsigned const x = where.x;
  float const west = x == 0 ? 0.0f : row[x - 1];
  float const east = x + columns_per_thread > last ? 0.0f : row[x + columns_per_thread];
  strip made;
  for (unsigned i = 0; i < columns_per_thread; ++i) {
    float const left = i == 0 ? west : here.at[i == 0 ? 0 : i - 1];
    float const right = i + 1 == columns_per_thread ? east : here.at[(i + 1) % columns_per_thread];
    bool const on_border = (i == 0 && x == 0) || x + i == last;
    made.at[i] = on_border ? here.at[i]
                           : relax(here.at[i], north.at[i], south.at[i], left, right, alpha);
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
  unsigned const left = band.columns - x;
  column_range const where{x, left < columns_per_thread ? left : columns_per_thread};
  unsigned const begin = blockIdx.y * rows_per_thread;
  unsigned const end = begin + rows_per_thread < band.rows ? begin + rows_per_thread : band.rows;
  unsigned long long const pitch = band.columns;

  float const* row = in + begin * pitch;
  float* to = out + begin * pitch;
  strip north = load<Wide>(begin == 0 ? above : row - pitch, where);
  strip here = load<Wide>(row, where);
  strip south = load<Wide>(begin + 1 == band.rows ? below : row + pitch, where);
  for (unsigned r = begin; r < end; ++r, row += pitch, to += pitch) {
    strip ahead = {};
    if (r + 1 < end) { ahead = load<Wide>(r + 2 == band.rows ? below : row + 2 * pitch, where); }
    bool const on_border = (r == 0 && band.is_first) || (r + 1 == band.rows && band.is_last);
    strip const made =
        on_border ? here : relax_strip(north, here, south, row, where, band.columns, alpha);
    store<Wide>(made, to, where);
    if (r == 0) { store<Wide>(made, first, where); }
    if (r + 1 == band.rows) { store<Wide>(made, last, where); }
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
extern "C" __global__ void __launch_bounds__(heat::threads_per_block)
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
