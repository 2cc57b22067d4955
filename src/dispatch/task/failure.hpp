#pragma once
// Why a task failed, kept until no ticket and no task can ask for it.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Counts releases of exceptions that other threads hold too. libstdc++ counts references to an
/// exception in code that ThreadSanitizer does not see, so TSan reports a correct program: the last
/// holder frees what others have read. A thread that has handed a copy to user code adds to this
/// counter afterwards, and a thread that frees a failure reads it first.
inline std::atomic<std::uint32_t> exception_releases{0};

struct failure {
  std::exception_ptr error;  // what `wait` throws
  std::string text;          // what the error says
  // Of a task that did not run: its predecessor's failure; else null.
  std::shared_ptr<failure const> cause;
  // acquire: pairs with the release of the thread that handed a copy to user code
  ~failure() { static_cast<void>(exception_releases.load(std::memory_order_acquire)); }

  /// The first failure in the chain of causes.
  [[nodiscard]] failure const& first_cause() const noexcept {
    failure const* first = this;
    while (first->cause != nullptr) { first = first->cause.get(); }
    return *first;
  }
};

[[nodiscard]] std::shared_ptr<failure const> make_failure(
    std::exception_ptr error, std::shared_ptr<failure const> cause = nullptr);

/// Failures by task. A task that ended well has no entry, so the table is empty while nothing
/// fails.
class failure_table {
 public:
  /// Call it before the slot's generation moves: a thread that sees the new generation finds the
  /// failure.
  void put(slot_address slot, std::uint64_t generation, std::shared_ptr<failure const> why);
  [[nodiscard]] std::shared_ptr<failure const> get(slot_address slot,
                                                   std::uint64_t generation) const;
  void erase(slot_address slot, std::uint64_t generation);
  /// Cost: one load.
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }

 private:
  static std::uint64_t key(slot_address slot, std::uint64_t generation) noexcept {
    return std::uint64_t{slot} << 32 | (generation & 0xffff'ffff);
  }
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<failure const>> entries_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace flotilla::dispatch
