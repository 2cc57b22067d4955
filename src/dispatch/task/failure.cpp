// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/failure.hpp"

namespace flotilla::dispatch {

std::shared_ptr<failure const> make_failure(std::exception_ptr error,
                                            std::shared_ptr<failure const> cause) {
  std::string text = "an exception that is not a std::exception";
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) { text = known.what(); } catch (...) {
  }
  return std::make_shared<failure const>(
      failure{std::move(error), std::move(text), std::move(cause)});
}

void failure_table::put(slot_address slot, std::uint64_t generation,
                        std::shared_ptr<failure const> why) {
  std::lock_guard const lock{mutex_};
  entries_.insert_or_assign(key(slot, generation), std::move(why));
  count_.store(entries_.size(), std::memory_order_release);  // pairs with the acquire in empty
}

std::shared_ptr<failure const> failure_table::get(slot_address slot,
                                                  std::uint64_t generation) const {
  if (empty()) { return nullptr; }
  std::lock_guard const lock{mutex_};
  auto const found = entries_.find(key(slot, generation));
  return found == entries_.end() ? nullptr : found->second;
}

void failure_table::erase(slot_address slot, std::uint64_t generation) {
  // Declared before the lock, so that its destructor runs after the unlock. The destructor may
  // destroy an exception, which runs user code.
  std::shared_ptr<failure const> last;
  std::lock_guard const lock{mutex_};
  auto const found = entries_.find(key(slot, generation));
  if (found == entries_.end()) { return; }
  last = std::move(found->second);
  entries_.erase(found);
  count_.store(entries_.size(), std::memory_order_release);
}

}  // namespace flotilla::dispatch
