#include "dispatch/failure.hpp"

namespace flotilla::dispatch {

std::shared_ptr<failure const> failure_of(std::exception_ptr error) {
  std::string text = "an exception that is no std::exception";
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) {
    text = known.what();
  } catch (...) {
  }
  return std::make_shared<failure const>(failure{std::move(error), std::move(text)});
}

void failure_table::put(slot_address slot, std::uint64_t generation, std::shared_ptr<failure const> what) {
  std::lock_guard const lock{mutex_};
  entries_.insert_or_assign(key(slot, generation), std::move(what));
  count_.store(entries_.size(), std::memory_order_release);  // pairs with the acquire in empty
}

std::shared_ptr<failure const> failure_table::get(slot_address slot, std::uint64_t generation) const {
  if (empty()) { return nullptr; }
  std::lock_guard const lock{mutex_};
  auto const found = entries_.find(key(slot, generation));
  return found == entries_.end() ? nullptr : found->second;
}

void failure_table::erase(slot_address slot, std::uint64_t generation) {
  std::shared_ptr<failure const> last;  // destroyed after the lock: an exception's destructor is user code
  std::lock_guard const lock{mutex_};
  auto const found = entries_.find(key(slot, generation));
  if (found == entries_.end()) { return; }
  last = std::move(found->second);
  entries_.erase(found);
  count_.store(entries_.size(), std::memory_order_release);
}

}  // namespace flotilla::dispatch
