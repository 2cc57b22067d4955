// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A task of a flow that was submitted.

#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

struct submitted_task {
  task_id id;
  place where;
  launch const* what;           // with its arguments; null if the task is no launch of the program
  task_options const& options;  // with the predecessors that the flow has inferred
};

}  // namespace flotilla::flows
