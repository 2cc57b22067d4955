// How long a core lives: as long as its runtime, its open tasks, which stand for their tickets, and the tickets that
// outlive their tasks, which are counted.
#include "dispatch/core.hpp"

namespace flotilla::dispatch {

void core::drop_ticket(slot_address address, std::uint64_t generation) noexcept {
  if (fork_generation_ != base::fork_generation()) { return; }
  std::atomic<std::uint64_t>& state = at(address).generation;
  std::uint64_t word = state.load(std::memory_order_acquire);
  do {
    generation_word const now{word};
    // Its task has ended, or never will.
    if (now.generation() != generation || now.detached()) { return drop_counted(address, generation); }
    // acq_rel: pairs with the exchange in `end`: exactly one of the two sees the other
  } while (!state.compare_exchange_strong(word, word | generation_word::detached_bit, std::memory_order_acq_rel));
  // Nothing is touched any more: only the task, if it has not ended by now, holds the core.
}

void core::drop_counted(slot_address address, std::uint64_t generation) noexcept {
  if (!failures_.empty() && failures_.get(address, generation) != nullptr) {
    unused.put({.kind = limbo::kinds::failure, .address = address, .generation = generation});
  }
  if (tickets_.drop(static_cast<std::uint32_t>(context::this_thread_token()))) { delete this; }
}

void core::count_tickets(std::int64_t left) noexcept {
  if (left != 0) { tickets_.take(static_cast<std::uint32_t>(context::this_thread_token()), left); }
}

}  // namespace flotilla::dispatch
