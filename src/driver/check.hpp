#pragma once
// Turns the result of a driver call into an exception that names call and object. The text is built
// only on failure.

#include <cuda.h>

#include <string>
#include <type_traits>
#include <utility>

#include <flotilla/error/error.hpp>

namespace flotilla::driver {

[[nodiscard]] inline driver_status status_of(CUresult result) noexcept {
  return static_cast<driver_status>(result);
}

/// @param subject  The object in words, or a callable that returns them.
/// @throws driver_error  when `result` is not CUDA_SUCCESS.
template <class Subject>
void check(CUresult result, char const* call, Subject&& subject) {
  if (result == CUDA_SUCCESS) [[likely]] { return; }
  if constexpr (std::is_invocable_v<Subject>) {
    throw driver_error(status_of(result), call, std::forward<Subject>(subject)());
  } else {
    throw driver_error(status_of(result), call, std::string{std::forward<Subject>(subject)});
  }
}

}  // namespace flotilla::driver
