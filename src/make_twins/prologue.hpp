// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The first instructions of a twin. They find the record of the block's launch.

#include <cstddef>
#include <string>
#include <string_view>

namespace flotilla::make_twins {

/// The register with the address of the record. The arguments follow the record.
inline constexpr std::string_view record_register = "%flotilla_record";

/// The values of a launch that the body of a twin reads.
struct launch_values {
  bool arguments = false;
  bool block_index = false;  ///< blockIdx
  bool grid_size = false;    ///< gridDim

  /// Notes that the body reads a special register, such as %ctaid.x, and returns the register that
  /// replaces it.
  [[nodiscard]] std::string register_for(std::string_view special);
};

/// Returns the name of parameter `i` of a twin.
[[nodiscard]] std::string twin_parameter(std::string_view twin, std::size_t i);

/// Returns the declarations and instructions that set the registers for `used`.
[[nodiscard]] std::string write_prologue(std::string_view twin, launch_values const& used);

}  // namespace flotilla::make_twins
