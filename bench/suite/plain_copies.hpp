// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control: copies of pinned memory by cuMemcpyHtoDAsync and cuMemcpyDtoHAsync, one call for each
// copy, in one stream for each direction.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "cached_fixture.hpp"
#include "plain_device.hpp"

namespace flotilla::bench {

/// Which copies a pass makes: to the device, from the device, or both at the same time.
struct directions {
  char const* name;
  bool up, down;
};
inline constexpr directions all_directions[] = {
    {"up", true, false}, {"down", false, true}, {"both at once", true, true}};

/// Returns where copy `i` of `copies` is, in copies: no copy continues the one before it.
[[nodiscard]] constexpr std::size_t scattered(std::int64_t i, std::int64_t copies) noexcept {
  constexpr std::int64_t prime = 4099;  // no number of copies is a multiple of it
  return static_cast<std::size_t>(i * prime % copies);
}

class plain_copies final : public cached_fixture {
 public:
  struct options {
    std::size_t bytes = 0;    // of a copy
    std::int64_t copies = 0;  // in each direction
    bool operator==(options const&) const = default;
  };
  explicit plain_copies(options const& wanted);

  /// Changes the contents of the memory that the next run copies to or from.
  void prepare(directions const& which);
  void run(directions const& which);
  /// Checks the copies of the last run. @throws std::runtime_error
  void check_copies(directions const& which);

  options const created_with;

 private:
  [[nodiscard]] std::size_t words() const noexcept;

  plain_device device_;
  CUstream up_stream_ = nullptr, down_stream_ = nullptr;
  std::span<unsigned long long> host_source_, host_destination_;
  CUdeviceptr device_source_ = 0, device_destination_ = 0;
  unsigned long long seed_ = 0;  // of `device_source_`
};

}  // namespace flotilla::bench
