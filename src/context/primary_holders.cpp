// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/primary_holders.hpp"

#include <array>
#include <atomic>

#include "context/context_handle.hpp"

namespace flotilla::context {

namespace {

constexpr CUdevice max_devices = 64;
std::array<std::atomic<unsigned>, max_devices> holders{};  // indexed by the driver's number

std::atomic<unsigned>* holders_of(CUdevice device) noexcept {
  return device >= 0 && device < max_devices ? &holders[static_cast<std::size_t>(device)] : nullptr;
}

}  // namespace

// relaxed: the numbers order no other memory access
primary_holder::primary_holder(CUdevice device) noexcept : device_(device) {
  if (auto* const all = holders_of(device)) { all->fetch_add(1, std::memory_order_relaxed); }
}

primary_holder::~primary_holder() {
  if (auto* const all = holders_of(device_)) { all->fetch_sub(1, std::memory_order_relaxed); }
}

unsigned foreign_primaries(driver::table const& api, int devices) noexcept {
  if (api.device_primary_ctx_get_state == nullptr) { return 0; }
  unsigned found = 0;
  for (int i = 0; i < devices; ++i) {
    CUdevice device = 0;
    if (api.device_get(&device, i) != CUDA_SUCCESS) { continue; }
    auto const* const mine = holders_of(device);
    if (mine == nullptr || mine->load(std::memory_order_relaxed) != 0) { continue; }
    unsigned flags = 0;
    int active = 0;
    if (api.device_primary_ctx_get_state(device, &flags, &active) == CUDA_SUCCESS && active != 0) {
      ++found;
    }
  }
  return found;
}

unsigned contexts_in_process(driver::table const& api, int devices, unsigned enough) noexcept {
  unsigned const own = live_contexts();
  // Machines have more processors than GPUs, so the driver is rarely asked.
  if (own > enough || own + static_cast<unsigned>(devices) <= enough) { return own; }
  return own + foreign_primaries(api, devices);
}

}  // namespace flotilla::context
