// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inboxes of the calling thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "dispatch/queue/inbox_registry.hpp"

namespace flotilla::dispatch {

/// The inboxes of the calling thread, one for each runtime, place and priority level. A place is
/// one device, or all devices together. An inbox is created when the thread first submits a task of
/// that level to the place, and is orphaned when the thread ends.
class thread_inboxes {
 public:
  thread_inboxes() = default;  // called by base::per_thread
  ~thread_inboxes();
  thread_inboxes(thread_inboxes&&) = delete;

  /// Returns the calling thread's inbox to a place, if the inbox exists and the thread's last call
  /// of `get` was for the same runtime. Otherwise null. The parameters are those of `get`.
  /// Cost: some loads.
  [[nodiscard]] static inbox* find_last(std::uint64_t runtime, unsigned place, unsigned places,
                                        priority_level level) noexcept {
    std::size_t const wanted = std::size_t{level} * places + place;
    return last_.runtime == runtime && wanted < last_.places ? last_.boxes[wanted].get() : nullptr;
  }
  /// Returns the calling thread's inbox to a place. Creates the inbox if it does not exist.
  /// @param runtime  The number of the runtime. Numbers are never reused.
  /// @param place    The index of a device; or the number of devices, for tasks that any device may
  ///                 take.
  [[nodiscard]] static inbox& get(std::uint64_t runtime, unsigned place, unsigned places,
                                  inbox_registry& registry, std::size_t capacity,
                                  priority_level level = 0) {
    if (inbox* const box = find_last(runtime, place, places, level); box != nullptr) {
      return *box;
    }
    return find(runtime, std::size_t{level} * places + place, std::size_t{level + 1u} * places,
                registry, capacity, level);
  }

 private:
  struct runtime_inboxes {
    std::uint64_t runtime;
    std::vector<std::shared_ptr<inbox>> by_place;  // the levels one after another, from 0
  };
  /// The inboxes of the runtime that this thread used last, so that `get` needs no search. The
  /// pointer stays valid until the next `find`, because only `find` and the end of the thread
  /// change the vectors. The runtime may have ended, but then nobody submits to it.
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
