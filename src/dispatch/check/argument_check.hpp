// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks whether a device can access the memory to which the arguments of a launch point.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch.hpp>

#include "context/context_handle.hpp"
#include "dispatch/check/destroyed_buffers.hpp"
#include "dispatch/check/memory_query.hpp"
#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class argument_check {
 public:
  struct parts {
    driver::table const& api;
    kernel_table const& kernels;
    std::span<device const> infos;                               // by device index
    std::vector<context::context_handle const*> const& handles;  // by device index
  };
  explicit argument_check(parts const& with) noexcept : parts_(with), query_(with.api) {}

  /// @param device  Index of the device that runs the launch. Empty: any device may take it.
  /// @throws invalid_argument  The device cannot access an argument. The message names the kernel,
  ///                           the label, the argument and the memory.
  void check(launch const& what, std::string_view label, std::optional<unsigned> device) const;
  /// Returns how the program has freed memory of its own, as the end of a clause. Empty if the
  /// memory exists.
  /// @param is_buffer  Whether the memory was a buffer. Otherwise, it was pageable.
  [[nodiscard]] std::string freed(std::uintptr_t address, std::size_t bytes, bool is_buffer) const;
  /// Records that the program has destroyed the buffer at this address.
  void destroyed(std::uintptr_t address);

 private:
  /// Returns the reason why the launch cannot use the address, and what to do. Empty if the launch
  /// can use the address.
  [[nodiscard]] std::string refusal(std::uintptr_t address, std::optional<unsigned> device) const;
  [[nodiscard]] std::string refusal_of_unknown(std::uintptr_t address,
                                               std::optional<unsigned> device) const;
  [[nodiscard]] std::string refusal_of_device(std::uintptr_t address, int owner,
                                              std::optional<unsigned> device) const;
  /// Returns a text such as "device 1 (NVIDIA H200)".
  [[nodiscard]] std::string text_of(unsigned device) const;

  parts const parts_;
  memory_query const query_;
  destroyed_buffers destroyed_;
};

}  // namespace flotilla::dispatch
