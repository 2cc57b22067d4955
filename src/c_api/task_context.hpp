// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the functions of tasks get.

#include <flotilla/c/task.h>
#include <flotilla/task/callable.hpp>

namespace flotilla::c_api {

[[nodiscard]] inline flotilla_task_context context_of(task_context const& task) {
  bool const has_stream = task.has_stream();
  return {sizeof(flotilla_task_context), task.device().ordinal.value,
          has_stream ? task.context() : nullptr, has_stream ? task.stream() : nullptr};
}

}  // namespace flotilla::c_api
