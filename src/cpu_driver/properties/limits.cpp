// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/properties/limits.hpp"

#include <algorithm>
#include <optional>

#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

enum class beyond : bool { refused, clamped };

struct rule {
  CUlimit which;
  std::size_t initial;
  std::size_t min;      // smaller requests are raised to this minimum
  std::size_t max;      // maximum of a request, before it is rounded
  std::size_t granule;  // requests are rounded up to a multiple of this value
  beyond past_max = beyond::refused;
};

// The maximum of an H200 is 599186 pending launches. A buffer of 256 MiB with 448 bytes for each
// launch would explain this number.
constexpr std::size_t max_pending = 256 * mib / 448;

// The values of an H200 (driver 580, docs/results/h200-conformance.txt). The exact maximum of the
// stack size is not known: an H200 accepts 511 KiB and refuses 512 KiB minus 16 bytes. This driver
// chooses 511 KiB.
constexpr rule rules[] = {
    {CU_LIMIT_STACK_SIZE, 1024, 0, 511 * kib, 16},
    {CU_LIMIT_PRINTF_FIFO_SIZE, 8650752, 512 * kib, ~std::size_t{0}, 256},
    {CU_LIMIT_MALLOC_HEAP_SIZE, 8 * mib, 4 * mib, ~std::size_t{0}, 64 * kib},
    {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048, 32, max_pending, 1, beyond::clamped},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64, 0, 128, 1},
    {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 3 * limits::persisting_granule, 0, limits::max_persisting,
     limits::persisting_granule},
};

std::size_t round_up(std::size_t value, std::size_t granule) noexcept {
  return (value + granule - 1) / granule * granule;
}

rule const* find_rule(int which) noexcept {
  auto const* const found = std::find_if(std::begin(rules), std::end(rules),
                                         [&](rule const& r) { return r.which == which; });
  return found != std::end(rules) ? found : nullptr;
}

/// Whether the limit can be read but not set.
bool read_only(int which) noexcept {
  return which == CU_LIMIT_SHMEM_SIZE || which == CU_LIMIT_CIG_ENABLED;
}

// The error for a limit that cannot be set; empty for all other limits.
std::optional<CUresult> refusal(int which) noexcept {
  if (read_only(which)) { return CUDA_ERROR_NOT_PERMITTED; }
  switch (which) {
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
    case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED: return CUDA_ERROR_UNSUPPORTED_LIMIT;
    default: return std::nullopt;
  }
}

}  // namespace

limits::limits() noexcept {
  for (rule const& each : rules) { values_[each.which] = each.initial; }
  values_[CU_LIMIT_SHMEM_SIZE] = properties::max_shared_bytes;
}

CUresult limits::get(int which, std::size_t& value) const noexcept {
  if (read_only(which) || find_rule(which) != nullptr) {
    value = read(which);
    return CUDA_SUCCESS;
  }
  return refusal(which).value_or(CUDA_ERROR_INVALID_VALUE);
}

CUresult limits::set(int which, std::size_t value, std::size_t memory) noexcept {
  rule const* const found = find_rule(which);
  if (found == nullptr) { return refusal(which).value_or(CUDA_ERROR_INVALID_VALUE); }
  bool const on_device = settled_by_kernels(which);
  if (on_device && value > memory) { return CUDA_ERROR_OUT_OF_MEMORY; }
  if (value > found->max) {
    if (found->past_max == beyond::refused) { return CUDA_ERROR_INVALID_VALUE; }
    value = found->max;
  }
  std::size_t const rounded = std::max(round_up(value, found->granule), found->min);
  // Without the lock, a kernel's first malloc or printf could make the limit final between the
  // check and the change.
  std::lock_guard const lock(mutex_);
  auto const& settled = which == CU_LIMIT_MALLOC_HEAP_SIZE ? heap_settled_ : fifo_settled_;
  if (on_device && settled.load(std::memory_order_relaxed)) { return CUDA_ERROR_INVALID_VALUE; }
  // As on an H200: if the rounded request equals the rounded old value, the limit becomes the
  // unrounded request. For example, if the stack size is 1024, a request of 1023 sets the limit to
  // 1023, but a request of 1000 sets it to 1008.
  bool const kept =
      which == CU_LIMIT_STACK_SIZE && rounded == round_up(read(which), found->granule);
  values_[static_cast<std::size_t>(which)].store(kept ? value : rounded, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

void limits::settle(std::atomic<bool>& which) noexcept {
  if (which.load(std::memory_order_relaxed)) { return; }
  std::lock_guard const lock(mutex_);
  which.store(true, std::memory_order_relaxed);
}

std::size_t limits::read(int which) const noexcept {
  // relaxed: no other memory depends on the value
  return values_[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
}

}  // namespace flotilla::cpu_driver
