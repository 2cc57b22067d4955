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
  std::size_t min;      // smaller requests become this
  std::size_t max;      // of the request, before it is rounded
  std::size_t granule;  // requests are rounded up to a multiple
  beyond past_max = beyond::refused;
};

// An H200 stops at 599186 pending launches. Our explanation is a buffer of 256 MiB with 448 bytes
// for each launch.
constexpr std::size_t max_pending = 256 * mib / 448;

// An H200's values (driver 580, docs/results/h200-conformance.txt). It grants a stack of 511 KiB
// and refuses one of 512 KiB less 16 bytes; the exact maximum is our choice.
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

/// Limits that can be read but not set.
bool read_only(int which) noexcept {
  return which == CU_LIMIT_SHMEM_SIZE || which == CU_LIMIT_CIG_ENABLED;
}

// The value of a limit that cannot be set.
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
  // The lock keeps a first malloc or printf of a kernel from happening between the check and the
  // change.
  std::lock_guard const lock(mutex_);
  auto const& settled = which == CU_LIMIT_MALLOC_HEAP_SIZE ? heap_settled_ : fifo_settled_;
  if (on_device && settled.load(std::memory_order_relaxed)) { return CUDA_ERROR_INVALID_VALUE; }
  // If the rounded stack size is the same as before, nothing changes: coming from 1024, an H200
  // turns 1000 into 1008, but leaves 1024 for 1023.
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
  return values_[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);  // only a number
}

}  // namespace flotilla::cpu_driver
