// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernel of a step and its callers must agree on.

namespace heat {

constexpr unsigned threads_per_block = 256;
constexpr unsigned columns_per_thread = 4;  // one load of 16 bytes
// A block reads two rows more than it writes, so more rows cost less. Fewer rows make more blocks:
// with 16, half of a field of 8192 x 8192 cells has 2048 blocks, enough for each multiprocessor of
// an H200.
constexpr unsigned rows_per_thread = 16;

/// A band: consecutive rows of the field.
struct band_shape {
  unsigned rows, columns;
  unsigned is_first;  ///< not 0 if row 0 of the band is the border of the field
  unsigned is_last;   ///< not 0 if the last row of the band is the border of the field
};

/// The blocks of a grid, in columns and in rows.
struct block_counts {
  unsigned x, y;
};
constexpr block_counts blocks_for(band_shape const& band) {
  constexpr unsigned width = threads_per_block * columns_per_thread;
  return {(band.columns + width - 1) / width, (band.rows + rows_per_thread - 1) / rows_per_thread};
}

}  // namespace heat
