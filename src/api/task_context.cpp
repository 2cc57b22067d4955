// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

void refuse_stream(task_context const& of) {
  throw invalid_argument("device " + std::to_string(of.device().ordinal.value) + " (" +
                         of.device().name +
                         ") is isolated, so its context and streams are in another process, and a "
                         "callable cannot use them; submit kernels, copies and fills, or use a "
                         "device that is not isolated");
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
