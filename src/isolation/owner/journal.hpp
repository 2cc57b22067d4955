// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a successor of a worker must do to have the same objects: for each object the request that
// made it, and the last request for each thing that was changed in it. Requests name objects by
// index, so they mean the same in every worker.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "isolation/owner/handle_bits.hpp"

namespace flotilla::isolated {

struct record {
  std::uint64_t order = 0;          // greater than that of every earlier record
  std::vector<std::byte> request;   // empty for an object that no request makes
  std::vector<std::uint32_t> uses;  // the objects that the request names
};

struct journal_entry {
  object_kind kind = object_kind::none;
  bool is_open = true;       // false: only an executable still needs the object
  unsigned users = 0;        // the number of executables that were made from this graph
  std::uint32_t parent = 0;  // the object with which this one ends, or 0
  std::vector<std::uint32_t> children;
  record made;
  std::unordered_map<std::uint64_t, record> changes;  // by what is changed
  std::string once;                                   // the key in `find_once`, if it is not empty
  void* image = nullptr;  // host memory that must stay until the object ends
};

/// The objects of one device, or the objects that all devices share. Call it with the lock of the
/// device; only `is_open` and the marks may be used without.
class journal {
 public:
  /// @param first  The first index of the objects.
  journal(int device, std::uint32_t first);
  journal(journal const&) = delete;
  journal& operator=(journal const&) = delete;

  /// Returns a free index, or 0. The index is taken when `add` is called.
  [[nodiscard]] std::uint32_t next_index();
  /// Adds an object. @return its handle
  [[nodiscard]] handle_bits add(std::uint32_t index, object_kind kind, std::uint32_t parent,
                                record made);
  /// Remembers a change of the object. `what` names the thing that is changed. Call `expect_change`
  /// before the change is made, because afterwards nothing may fail for lack of memory.
  void expect_change(std::uint32_t index, std::uint64_t what);
  void change(std::uint32_t index, std::uint64_t what, record made) noexcept;
  /// Ends the object and its children. Calls release(image) for each image that nobody needs any
  /// more. Needs no memory.
  using release_image = void (*)(void* image) noexcept;
  void close(std::uint32_t index, release_image release) noexcept;
  [[nodiscard]] journal_entry* find(std::uint32_t index);
  /// Returns the index of the object that the same request has made before, or 0.
  [[nodiscard]] std::uint32_t find_once(std::string const& key) const;
  void set_once(std::uint32_t index, std::string const& key);

  [[nodiscard]] handle_bits handle_of(std::uint32_t index) const noexcept {
    return {slot(index).load(std::memory_order_relaxed)};
  }
  /// Whether the handle names an open object of this journal. Threads: any. Cost: one load.
  [[nodiscard]] bool is_open(handle_bits handle) const noexcept {
    // relaxed: whoever uses a handle has got it from a call that returned it.
    return slot(handle.index()).load(std::memory_order_relaxed) == handle.value;
  }
  /// Marks an event as recorded. Threads: any.
  void mark_recorded(std::uint32_t index) noexcept {
    recorded_[index - first_].store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool was_recorded(std::uint32_t index) const noexcept {
    return recorded_[index - first_].load(std::memory_order_relaxed);
  }

  /// The context of a stream or event, or 0. Threads: any.
  [[nodiscard]] std::uint32_t home_of(std::uint32_t index) const noexcept {
    return homes_[index - first_].load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t next_order() noexcept { return ++last_order_; }
  [[nodiscard]] std::uint64_t last_order() const noexcept { return last_order_; }
  [[nodiscard]] std::unordered_map<std::uint32_t, journal_entry> const& entries() const noexcept {
    return entries_;
  }
  [[nodiscard]] std::uint32_t limit() const noexcept { return next_; }

 private:
  [[nodiscard]] std::atomic<std::uint64_t>& slot(std::uint32_t index) const noexcept {
    return slots_[index - first_];
  }
  void erase(std::uint32_t index, release_image release) noexcept;

  int device_;
  std::uint32_t first_;
  std::uint32_t next_;
  std::uint64_t last_order_ = 0;
  std::uint32_t generation_ = 0;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint32_t, journal_entry> entries_;
  std::unordered_map<std::string, std::uint32_t> once_;
  std::atomic<std::uint64_t>* slots_;  // by index: the open handle, or 0
  std::atomic<bool>* recorded_;
  std::atomic<std::uint32_t>* homes_;
};

}  // namespace flotilla::isolated
