// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/ticket_count.hpp"

#include <new>

#include "context/lease.hpp"

namespace flotilla::dispatch {

namespace {
std::uint32_t this_shard() noexcept {
  return static_cast<std::uint32_t>(context::this_thread_token());
}
}  // namespace

bool ticket_count::drop_counted(slot_address slot, std::uint64_t generation) noexcept {
  if (!failures_.empty() && failures_.get(slot, generation) != nullptr) {
    try {
      reclaimer_.retire(
          {.kind = epoch_reclaimer::kinds::failure, .address = slot, .generation = generation});
    } catch (std::bad_alloc const&) {}  // the failure stays in the table until the runtime ends
  }
  return tickets_.drop(this_shard());
}

void ticket_count::count_open(std::optional<unsigned> device) noexcept {
  std::int64_t left = 0;
  std::uint32_t const mine = device ? *device + 1 : 0;
  tasks_.for_each_open([&](slot_address task) {
    slot& one = tasks_.at(task);
    // Skip the tasks of other devices, because other threads may be ending them.
    if (one.device.load(std::memory_order_relaxed) == mine) {
      // A thread that later ends the task or drops the ticket finds the ticket settled.
      generation_word const open{one.generation.load(std::memory_order_relaxed)};
      if (open.has_ticket() && tasks_.ticket_of(task).settle(open.generation())) { ++left; }
    }
    return true;
  });
  if (left != 0) { tickets_.take(this_shard(), left); }
}

}  // namespace flotilla::dispatch
