// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/twin.hpp"

namespace flotilla::cpu_driver {

std::uint32_t find_launch(void* const* arguments, std::uint32_t block) noexcept {
  auto const blocks = twin_argument<std::uint64_t>(arguments, 1);
  auto const blocks_each = twin_argument<std::uint32_t>(arguments, 3);
  return blocks_each != 0 ? block / blocks_each
                          : reinterpret_cast<std::uint32_t const*>(blocks)[block];
}

twin_block find_twin_block(void* const* arguments, std::uint32_t block) noexcept {
  auto const records = twin_argument<std::uint64_t>(arguments, 0);
  auto const stride = twin_argument<std::uint32_t>(arguments, 2);
  std::uint32_t const launch = find_launch(arguments, block);
  auto* const at = reinterpret_cast<std::byte*>(records + std::uint64_t{launch} * stride);
  auto const& record = *reinterpret_cast<detail::twin_record const*>(at);
  auto const& [x, y, z] = record.grid;
  std::uint32_t const own = block - record.first_block;
  return {{x, y, z}, {own % x, own / x % y, own / x / y}, at + sizeof record};
}

void point_to_arguments(std::byte* arguments, cpu::kernel_record const& kernel,
                        std::vector<void*>& addresses) {
  addresses.resize(kernel.parameter_count);
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    addresses[i] = arguments + kernel.parameter_offsets[i];
  }
}

}  // namespace flotilla::cpu_driver
