#include "cpu_driver/limits.hpp"

#include <algorithm>
#include <optional>

#include "cpu_driver/device_properties.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

enum class beyond : bool { refused, clamped };

struct rule {
  CUlimit which;
  std::size_t initial;
  std::size_t least;    // smaller requests become this
  std::size_t most;     // of what is asked for, before it is rounded
  std::size_t granule;  // requests are rounded up to a multiple
  beyond past_most = beyond::refused;
};

// Pending launches wait in a buffer: 448 bytes each, 256 MiB at most. Those two numbers are our
// reading of the only one known, 599186, where an H200 stops.
constexpr std::size_t max_pending = 256 * mib / 448;

// All as an H200 answers (driver 580, docs/results/h200-conformance.txt). It grants a stack of 511
// KiB and refuses one of 512 KiB less 16 bytes: where between them it stops is our choice.
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

/// Those that can be read but not set.
bool read_only(int which) noexcept {
  return which == CU_LIMIT_SHMEM_SIZE || which == CU_LIMIT_CIG_ENABLED;
}

// What a driver answers for a limit that nobody can set.
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
  if (value > found->most) {
    if (found->past_most == beyond::refused) { return CUDA_ERROR_INVALID_VALUE; }
    value = found->most;
  }
  std::size_t const rounded = std::max(round_up(value, found->granule), found->least);
  // The lock keeps a first device malloc or printf from slipping in between the look and the change.
  std::lock_guard const lock(mutex_);
  auto const& settled = which == CU_LIMIT_MALLOC_HEAP_SIZE ? heap_settled_ : fifo_settled_;
  if (on_device && settled.load(std::memory_order_relaxed)) { return CUDA_ERROR_INVALID_VALUE; }
  // A stack that comes to the same as before is left as it is, and what was asked for stands beside
  // it unrounded: over 1024, an H200 makes 1008 of 1000, but leaves 1023.
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
  return values_[static_cast<std::size_t>(which)].load(
      std::memory_order_relaxed);  // a number by itself; orders nothing
}

}  // namespace flotilla::cpu_driver
