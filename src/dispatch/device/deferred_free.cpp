// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/deferred_free.hpp"

#include "dispatch/device/device_set.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t max_deferred_bytes = std::size_t{256} << 20;
constexpr std::chrono::milliseconds interval{1};
}  // namespace

void deferred_free::run_in_pass() {
  if (parts_.shared.reclaimer.empty()) { return; }
  auto const now = std::chrono::steady_clock::now();
  if (parts_.shared.tasks.any_open() && now - last_run_ <= interval) { return; }
  last_run_ = now;
  run();
}

bool deferred_free::would_block(epoch_reclaimer::item const& item) const noexcept {
  switch (item.kind) {
    case epoch_reclaimer::kinds::recorded: return parts_.lanes.any_busy();
    case epoch_reclaimer::kinds::host_memory:  // mapped for all devices
      return parts_.lanes.any_busy() || parts_.devices.any_batches();
    default: return false;
  }
}

void deferred_free::run(blocking mode) {
  epoch_reclaimer& reclaimer = parts_.shared.reclaimer;
  std::uint64_t const oldest = parts_.shared.tasks.oldest_epoch(reclaimer.oldest_pinned());
  auto const is_here = [this](epoch_reclaimer::item const& item) {
    return item.device == parts_.lanes.device();
  };
  auto const is_deferred = [&](epoch_reclaimer::item const& item) {
    return is_here(item) && would_block(item);
  };
  bool const all =
      mode == blocking::allowed || reclaimer.bytes(oldest, is_deferred) > max_deferred_bytes;
  auto const is_ours = [&](epoch_reclaimer::item const& item) {
    return item.kind == epoch_reclaimer::kinds::failure ||
           item.kind == epoch_reclaimer::kinds::kept_failure ||
           (is_here(item) && (all || !would_block(item)));
  };
  while (auto const item = reclaimer.take(oldest, is_ours)) { free(*item); }
}

void deferred_free::free(epoch_reclaimer::item const& item) {
  driver::table const& api = parts_.context.api();
  switch (item.kind) {
    case epoch_reclaimer::kinds::failure:
      parts_.shared.failures.erase(static_cast<slot_address>(item.address), item.generation);
      break;
    case epoch_reclaimer::kinds::kept_failure:
      parts_.shared.failures.forget(static_cast<slot_address>(item.address), item.generation);
      break;
    case epoch_reclaimer::kinds::device_memory:
      parts_.reporter.note(parts_.memory.free(item.address, item.bytes));
      break;
    case epoch_reclaimer::kinds::host_memory:
      parts_.reporter.note(api.mem_free_host(reinterpret_cast<void*>(item.address)));
      break;
    case epoch_reclaimer::kinds::recorded:
      // Destroy the graph here, while the context is current. The last reference to the part may be
      // dropped later, on a thread where the context is not current.
      parts_.shared.recordings.take(static_cast<std::uint32_t>(item.address))->destroy();
      break;
  }
}

}  // namespace flotilla::dispatch
