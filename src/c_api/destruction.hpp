// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of objects that tasks may use while a call waits for these tasks.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// The right of one call to destroy an object. The handle stays valid meanwhile, because functions
/// of tasks use it, and for these the call waits. Another call that destroys the same object must
/// not touch it: it could be gone at any time. So the search for the object, the claim and the
/// removal lock one mutex.
template <class Table>
class destruction {
 public:
  using pointer = typename Table::value_type;  // to an object with a member is_being_destroyed

  /// @throws refused_call  The object does not exist, or another call destroys it.
  destruction(Table& table, std::uint64_t id, kinds kind) : table_{table}, id_{id} {
    std::lock_guard const lock{mutex()};
    held_ = object_of(table, id, kind).get();
    if (std::exchange(held_->is_being_destroyed, true)) {
      held_ = nullptr;
      throw refused_call(FLOTILLA_INVALID_HANDLE, "another call is destroying it");
    }
  }
  ~destruction() {
    std::lock_guard const lock{mutex()};
    if (held_ != nullptr) { held_->is_being_destroyed = false; }
  }
  destruction(destruction const&) = delete;
  destruction& operator=(destruction const&) = delete;

  [[nodiscard]] auto& held() const noexcept { return *held_; }
  /// Makes the handle name no object, and returns the object.
  [[nodiscard]] pointer take() noexcept {
    std::lock_guard const lock{mutex()};
    held_ = nullptr;
    return std::move(*table_.take(id_));
  }

 private:
  [[nodiscard]] static std::mutex& mutex() noexcept {
    static auto* const made = new std::mutex;  // destructors of static objects may destroy objects
    return *made;
  }
  Table& table_;
  std::uint64_t const id_;
  typename pointer::element_type* held_ = nullptr;  // null after `take`
};

/// @param end  What the program must do with the objects.
/// @throws refused_call  Objects of something that is to be destroyed exist.
inline void refuse_if_any(std::size_t left, char const* objects, char const* end) {
  if (left != 0) {
    throw refused_call(FLOTILLA_STILL_USED, std::to_string(left) + " of its " + objects +
                                                " exist; " + end + " them first");
  }
}

}  // namespace flotilla::c_api
