// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every function of the C interface does: it turns exceptions into a status, and checks
// pointers.

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <flotilla/c/status.h>

#include "c_api/last_error.hpp"

namespace flotilla::c_api {

/// A call of the C interface has an invalid argument that the interface for C++ never sees.
class refused_call : public std::runtime_error {
 public:
  refused_call(flotilla_status status, std::string const& text)
      : std::runtime_error{text}, status_{status} {}
  [[nodiscard]] flotilla_status status() const noexcept { return status_; }

 private:
  flotilla_status status_;
};

/// Runs the body of a function of the C interface. If it throws, stores the error for the calling
/// thread and returns its status.
/// @param function  The name of the function, for the text of a refused call.
template <class Body>
[[nodiscard]] flotilla_status guarded(char const* function, Body const& body) noexcept {
  try {
    body();
    return FLOTILLA_SUCCESS;
  } catch (...) { return store_error(function, std::current_exception()); }
}

[[noreturn]] void refuse_null(char const* name);

/// @param name  The name of the parameter.
/// @throws refused_call  The pointer is null.
template <class T>
void check_not_null(T* pointer, char const* name) {
  if (pointer == nullptr) [[unlikely]] { refuse_null(name); }
}
/// Returns what a parameter points to.
/// @throws refused_call  The pointer is null.
template <class T>
[[nodiscard]] T& required(T* pointer, char const* name) {
  check_not_null(pointer, name);
  return *pointer;
}

[[noreturn]] void refuse_size(char const* type, std::size_t given, std::size_t needed);

/// Checks a struct that begins with its size.
/// @param type  The name of the struct.
/// @throws refused_call  The size is too small.
template <class Struct>
void check_size(Struct const& given, char const* type) {
  if (given.size < sizeof given) [[unlikely]] { refuse_size(type, given.size, sizeof given); }
}

/// Returns a text of the program.
/// @throws refused_call  The pointer is null.
[[nodiscard]] inline std::string text_of(char const* text, char const* name) {
  return std::string{&required(text, name)};
}

}  // namespace flotilla::c_api
