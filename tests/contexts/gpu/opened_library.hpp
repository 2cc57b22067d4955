// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A shared library that a test opens with dlopen, so that the test can be skipped if the library is
// missing.

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace flotilla::test {

class opened_library {
 public:
  [[nodiscard]] bool there() const { return why_not_.empty(); }
  [[nodiscard]] std::string const& why_not() const { return why_not_; }

 protected:
  /// Opens the first of these libraries that exists. The library is never closed, because contexts
  /// use it until the process ends.
  explicit opened_library(std::initializer_list<char const*> names) {
    for (char const* const each : names) {
      library_ = library_ != nullptr ? library_ : dlopen(each, RTLD_NOW | RTLD_LOCAL);
    }
    if (library_ == nullptr) { why_not_ = dlerror(); }
  }
  template <class Function>
  void take(Function& into, char const* name) {
    if (library_ == nullptr) { return; }
    into = reinterpret_cast<Function>(dlsym(library_, name));
    if (into == nullptr) { why_not_ += std::string{"the library has no "} + name + "; "; }
  }
  void refuse(std::string why) { why_not_ = std::move(why); }

 private:
  void* library_ = nullptr;
  std::string why_not_;
};

}  // namespace flotilla::test
