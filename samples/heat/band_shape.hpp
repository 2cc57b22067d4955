// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernel of a step and its callers must agree on.

namespace heat {

constexpr unsigned threads_per_block = 256;
constexpr unsigned columns_per_thread = 4;  // one load of 16 bytes
// A block reads two rows more than it writes. With more rows, fewer are read twice. With fewer
// rows, the blocks that run at the same time read so little that the L2 cache of a large GPU still
// has a row when the next block reads it: 22 MB on an H200, with 8 rows and 5 blocks on each
// multiprocessor.
constexpr unsigned rows_per_thread = 8;

/// A band: consecutive rows of the field.
struct band_shape {
  unsigned rows, columns;
  /// The rows [inner_begin, inner_end) change. The other rows are the border of the field: the
  /// first row of the first band, and the last row of the last band.
  unsigned inner_begin, inner_end;
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
