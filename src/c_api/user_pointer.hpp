// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pointer that a program gives to its function.

#include <utility>

namespace flotilla::c_api {

/// Destroys the pointer once, with the function of the program.
class user_pointer {
 public:
  user_pointer(void* user, void (*destroy)(void*)) noexcept : user_{user}, destroy_{destroy} {}
  user_pointer(user_pointer&& other) noexcept
      : user_{other.user_}, destroy_{std::exchange(other.destroy_, nullptr)} {}
  user_pointer& operator=(user_pointer&&) = delete;
  ~user_pointer() {
    if (destroy_ != nullptr) { destroy_(user_); }
  }
  [[nodiscard]] void* get() const noexcept { return user_; }

 private:
  void* user_;
  void (*destroy_)(void*);
};

}  // namespace flotilla::c_api
