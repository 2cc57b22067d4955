// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/twin.hpp"

#include <cstring>

namespace flotilla::cpu_driver {
namespace {

template <class T>
T argument(void* const* arguments, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);  // arguments may be unaligned
  return value;
}

}  // namespace

twin_block find_twin_block(void* const* arguments, std::uint32_t block) noexcept {
  auto const records = argument<std::uint64_t>(arguments, 0);
  auto const blocks = argument<std::uint64_t>(arguments, 1);
  auto const stride = argument<std::uint32_t>(arguments, 2);
  auto const blocks_each = argument<std::uint32_t>(arguments, 3);
  std::uint32_t const launch = blocks_each != 0
                                   ? block / blocks_each
                                   : reinterpret_cast<std::uint32_t const*>(blocks)[block];
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
