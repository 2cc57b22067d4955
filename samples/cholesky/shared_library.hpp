// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A library that is opened when the program runs.

#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace cholesky {

/// Stays open until the program ends: the libraries of CUDA have threads and destructors.
class shared_library {
 public:
  /// Opens the first library that there is.
  /// @throws std::runtime_error  None of them can be opened. The message gives the reason for each.
  explicit shared_library(std::initializer_list<char const*> names) {
    std::string reasons;
    for (char const* each : names) {
      opened_ = dlopen(each, RTLD_NOW | RTLD_LOCAL);
      if (opened_ != nullptr) { return; }
      char const* const why = dlerror();
      reasons += reasons.empty() ? "" : "; ";
      reasons += why == nullptr ? each : why;
    }
    throw std::runtime_error(reasons);
  }

  /// @throws std::runtime_error  The library has no such function.
  template <class Function>
  void take(Function& into, char const* name) const {
    into = reinterpret_cast<Function>(dlsym(opened_, name));
    if (into == nullptr) { throw std::runtime_error(std::string{name} + " is missing"); }
  }

 private:
  void* opened_ = nullptr;
};

}  // namespace cholesky
