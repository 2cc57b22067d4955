// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes of executables that the worker does not have yet. They go to the worker together with the
// launch that needs them, so that a batch costs one call and not one for each of its nodes.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isolation/channel/channel.hpp"
#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

/// Not thread-safe: call it with the lock of the device.
class posted_changes {
 public:
  /// Whether a request of this size still fits beside a launch.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    constexpr std::size_t reserved = 256;  // for the launch and the head of the batch
    return bytes_.size() + bytes + sizeof(std::uint32_t) + reserved <= max_request_bytes;
  }
  void add(std::span<std::byte const> request) {
    // All at once, so that a part of a change is never sent.
    if (bytes_.capacity() < max_request_bytes) { bytes_.reserve(max_request_bytes); }
    auto const size = static_cast<std::uint32_t>(request.size());
    auto const head = std::as_bytes(std::span{&size, 1});
    bytes_.insert(bytes_.end(), head.begin(), head.end());
    bytes_.insert(bytes_.end(), request.begin(), request.end());
  }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::span<std::byte const> bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

  /// Remembers that a change failed that was sent without a launch. The next launch reports it.
  void fail(CUresult status) noexcept {
    if (failed_ == CUDA_SUCCESS) { failed_ = status; }
  }
  [[nodiscard]] CUresult take_failure() noexcept {
    CUresult const found = failed_;
    failed_ = CUDA_SUCCESS;
    return found;
  }
  void drop() noexcept {
    clear();
    failed_ = CUDA_SUCCESS;
  }

 private:
  std::vector<std::byte> bytes_;  // keeps its capacity
  CUresult failed_ = CUDA_SUCCESS;
};

}  // namespace flotilla::isolated
