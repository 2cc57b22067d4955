#pragma once
// What went wrong with a task, kept until nobody can ask for it any more.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// Counts what let go of an exception that others hold, too. libstdc++ keeps an exception's own count in code that
/// ThreadSanitizer does not see, so it reports a correct program: the last holder frees what others have read. Whoever
/// hands a copy to user code adds to this one behind it, and who frees reads it first.
inline std::atomic<std::uint32_t> exceptions_let_go{0};

struct failure {
  std::exception_ptr error;  // what `wait` throws
  std::string text;          // its words: the first cause of what fails after it
  ~failure() { static_cast<void>(exceptions_let_go.load(std::memory_order_acquire)); }
};

[[nodiscard]] std::shared_ptr<failure const> failure_of(std::exception_ptr error);

/// Failures by task. A task that ended well has none, so the table is empty while nothing fails.
class failure_table {
 public:
  /// Before the slot's generation moves: who sees it moved finds the failure.
  void put(slot_address slot, std::uint64_t generation, std::shared_ptr<failure const> what);
  [[nodiscard]] std::shared_ptr<failure const> get(slot_address slot, std::uint64_t generation) const;
  void erase(slot_address slot, std::uint64_t generation);
  /// Whether there is any. Cost: one load.
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
