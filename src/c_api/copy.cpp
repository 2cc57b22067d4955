// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/task.h>

#include "c_api/memory_op_of.hpp"
#include "c_api/submit.hpp"

using namespace flotilla::c_api;

flotilla_status flotilla_submit_copy(flotilla_place to, flotilla_place from, size_t bytes,
                                     flotilla_task_options const* options,
                                     flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_copy", ticket, [&] {
    owned_memory_op const made = copy_of(to, from, bytes);
    submit(made.owner.rt, made.what, options, ticket);
  });
}

flotilla_status flotilla_submit_fill(flotilla_place to, void const* value, size_t value_bytes,
                                     size_t count, flotilla_task_options const* options,
                                     flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_fill", ticket, [&] {
    owned_memory_op const made = fill_of(to, value, value_bytes, count);
    submit(made.owner.rt, made.what, options, ticket);
  });
}
