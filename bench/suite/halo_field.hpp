// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A field of the Jacobi method that is divided by rows between two devices.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace flotilla::bench {

/// The size of the part of one device. The part has a halo row before its first row and after its
/// last row. One of the two halo rows is at the edge of the field and never changes. The other one
/// is a copy of the other device's nearest row.
struct halo_field {
  int width;
  int rows;  // without the halo rows

  static constexpr unsigned threads = 256;  // of a block
  static constexpr float edge_value = 1;    // the row before the field; all others begin with 0

  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(rows + 2);
  }
  [[nodiscard]] std::size_t row(int index) const noexcept {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(index);
  }
  /// The row of device `device` that the other device needs.
  [[nodiscard]] std::size_t sent_row(unsigned device) const noexcept {
    return row(device == 0 ? rows : 1);
  }
  /// The halo row of device `device` that the other device's row is copied to.
  [[nodiscard]] std::size_t received_row(unsigned device) const noexcept {
    return row(device == 0 ? rows + 1 : 0);
  }
  [[nodiscard]] std::vector<float> initial(unsigned device) const {
    std::vector<float> values(size(), 0.0F);
    if (device == 0) { std::fill_n(values.begin(), width, edge_value); }
    return values;
  }
  /// Computes the field after `steps` steps on the host and compares both parts with it.
  /// @throws std::runtime_error  A value is wrong.
  void check(std::vector<float> const& part0, std::vector<float> const& part1, int steps) const;
};

}  // namespace flotilla::bench
