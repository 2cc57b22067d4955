// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns the error of a driver call into an exception that names the call and its object.

#include <cuda.h>

#include <string>
#include <type_traits>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/process_end.hpp"

namespace flotilla::driver {

[[nodiscard]] inline driver_status status_of(CUresult result) noexcept {
  return static_cast<driver_status>(result);
}

/// @param subject  The object of the call in words, or a callable that returns the words. The
///                 callable runs only if the call has failed.
/// @throws driver_error  `result` is not CUDA_SUCCESS.
template <class Subject>
void check(CUresult result, char const* call, Subject&& subject) {
  if (result == CUDA_SUCCESS) [[likely]] { return; }
  // The driver shuts down while the process ends. The caller has no chance to know that.
  if (result == CUDA_ERROR_DEINITIALIZED) { base::yield_to_process_end(); }
  if constexpr (std::is_invocable_v<Subject>) {
    throw driver_error(status_of(result), call, std::forward<Subject>(subject)());
  } else {
    throw driver_error(status_of(result), call, std::string{std::forward<Subject>(subject)});
  }
}

}  // namespace flotilla::driver
