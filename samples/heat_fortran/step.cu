// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// One step of the heat equation in a band of `rows` rows and `columns` columns. Both arrays have one
/// more row before and behind the band. The first and last column keep their values.
extern "C" __global__ void heat_step(double const* from, double* to, int columns, int rows) {
  int const column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) + 1;
  if (column >= columns || row > rows) { return; }
  double const* const here = from + row * columns + column;
  bool const is_edge = column == 0 || column == columns - 1;
  to[row * columns + column] =
      is_edge ? *here
              : *here + 0.2 * (here[-1] + here[1] + here[-columns] + here[columns] - 4 * *here);
}
