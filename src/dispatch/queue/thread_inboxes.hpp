#pragma once
// The inboxes of the calling thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "dispatch/queue/inbox_registry.hpp"

namespace flotilla::dispatch {

/// The calling thread's inboxes to each place of each runtime. An inbox is made at the thread's
/// first submission to that place, and orphaned when the thread ends.
class thread_inboxes {
 public:
  thread_inboxes() = default;  // base::per_thread constructs it
  ~thread_inboxes();
  thread_inboxes(thread_inboxes&&) = delete;

  /// @param runtime  The runtime's number, which is never used again.
  /// @param place    A device, or one past the last device for tasks that any device may take.
  /// Cost: some loads if the inbox exists and the thread's last call was for the same runtime.
  [[nodiscard]] static inbox& get(std::uint64_t runtime, unsigned place, unsigned places,
                                  inbox_registry& registry, std::size_t capacity,
                                  priority_level level = 0) {
    std::size_t const wanted = std::size_t{level} * places + place;
    if (last_.runtime == runtime && wanted < last_.places) {
      if (inbox* const box = last_.boxes[wanted].get(); box != nullptr) { return *box; }
    }
    return find(runtime, wanted, std::size_t{level + 1u} * places, registry, capacity, level);
  }

 private:
  struct runtime_inboxes {
    std::uint64_t runtime;
    std::vector<std::shared_ptr<inbox>> by_place;  // level by level, the least urgent first
  };
  /// What the thread's last `find` found. Nobody asks again for a runtime that has ended. The boxes
  /// of one runtime move only inside `find`, on this thread, and not when `runtimes_` grows.
  struct found {
    std::uint64_t runtime;
    std::size_t places;
    std::shared_ptr<inbox> const* boxes;
  };
  [[nodiscard]] static inbox& find(std::uint64_t runtime, std::size_t wanted, std::size_t places,
                                   inbox_registry& registry, std::size_t capacity,
                                   priority_level level);
  void forget_ended_runtimes();

  std::vector<runtime_inboxes> runtimes_;
  static inline thread_local constinit found last_{};
};

}  // namespace flotilla::dispatch
