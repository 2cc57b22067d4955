// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/recording.h>

#include <string>

#include "c_api/call.hpp"
#include "c_api/launch_of.hpp"
#include "c_api/memory_op_of.hpp"
#include "c_api/objects.hpp"
#include "c_api/submit.hpp"

namespace flotilla::c_api {

namespace {

/// @param name  The name of the parameter, for messages.
recorded_task task_of(held_recording const& of, std::size_t number, std::string const& name) {
  if (number >= of.tasks.size()) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT, name + " is " + std::to_string(number) +
                                                      ", but the recording has " +
                                                      std::to_string(of.tasks.size()) + " tasks");
  }
  return of.tasks[number];
}

recorded_options options_of(held_recording const& of, flotilla_recorded_options const* given) {
  recorded_options made;
  if (given == nullptr) { return made; }
  check_size(*given, "flotilla_recorded_options");
  made.device = requested_device(given->device);
  if (given->after_count != 0) { check_not_null(given->after, "options->after"); }
  for (std::size_t i = 0; i < given->after_count; ++i) {
    made.after.add(task_of(of, given->after[i], "options->after[" + std::to_string(i) + "]"));
  }
  return made;
}

replay_options options_of(flotilla_replay_options const* given) {
  replay_options made;
  if (given == nullptr) { return made; }
  check_size(*given, "flotilla_replay_options");
  made.priority = given->priority;
  if (given->label != nullptr) { made.label = given->label; }
  add_tickets(made.after, given->after, given->after_count, "options->after");
  made.deadline = deadline_in(given->timeout_ns);
  return made;
}

/// Adds a launch or a memory_op to a recording.
template <class What>
void record(held_recording& to, What const& what, flotilla_recorded_options const* options,
            std::size_t* task) {
  recorded_options const converted = options_of(to, options);
  to.tasks.emplace_back();  // first, because nothing may fail after the task was added
  try {
    to.tasks.back() = to.held.add(what, converted);
  } catch (...) {
    to.tasks.pop_back();
    throw;
  }
  if (task != nullptr) { *task = to.tasks.size() - 1; }
}

template <class What>
void replace(held_recording& of, std::size_t task, What const& what) {
  of.held.set(task_of(of, task, "'task'"), what);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_recording_create(flotilla_runtime rt, flotilla_recording* made) {
  return guarded("flotilla_recording_create", [&] {
    required(made, "made").id = 0;
    held_runtime& owner = object(rt);
    made->id = recording_table::get().add({owner, flotilla::recording{owner.rt}});
    owner.recordings.fetch_add(1);
  });
}

flotilla_status flotilla_recording_destroy(flotilla_recording recording) {
  return guarded("flotilla_recording_destroy", [&] {
    end_object(recording_table::get(), recording.id, kinds::recording, &held_runtime::recordings);
  });
}

flotilla_status flotilla_record_launch(flotilla_recording recording, flotilla_kernel kernel,
                                       flotilla_shape shape, flotilla_argument const* arguments,
                                       size_t count, flotilla_recorded_options const* options,
                                       size_t* task) {
  return guarded("flotilla_record_launch", [&] {
    held_recording& to = object(recording);
    auto const made = launch_of(object(kernel), shape, arguments_of(arguments, count));
    record(to, made.complete(), options, task);
  });
}

flotilla_status flotilla_record_copy(flotilla_recording recording, flotilla_place to,
                                     flotilla_place from, size_t bytes,
                                     flotilla_recorded_options const* options, size_t* task) {
  return guarded("flotilla_record_copy", [&] {
    held_recording& of = object(recording);
    record(of, copy_of(to, from, bytes).what, options, task);
  });
}

flotilla_status flotilla_record_fill(flotilla_recording recording, flotilla_place to,
                                     void const* value, size_t value_bytes, size_t count,
                                     flotilla_recorded_options const* options, size_t* task) {
  return guarded("flotilla_record_fill", [&] {
    held_recording& of = object(recording);
    record(of, fill_of(to, value, value_bytes, count).what, options, task);
  });
}

flotilla_status flotilla_recording_finish(flotilla_recording recording) {
  return guarded("flotilla_recording_finish", [&] { object(recording).held.finish(); });
}

flotilla_status flotilla_recording_replay(flotilla_recording recording,
                                          flotilla_replay_options const* options,
                                          flotilla_ticket* ticket) {
  return guarded_submit("flotilla_recording_replay", ticket, [&] {
    check_not_null(ticket, "ticket");
    held_recording& of = object(recording);
    flotilla::replay_options const converted = options_of(options);
    hand_out([&] { return of.held.replay(converted); }, *ticket);
  });
}

flotilla_status flotilla_recording_set_launch(flotilla_recording recording, size_t task,
                                              flotilla_kernel kernel, flotilla_shape shape,
                                              flotilla_argument const* arguments, size_t count) {
  return guarded("flotilla_recording_set_launch", [&] {
    held_recording& of = object(recording);
    auto const made = launch_of(object(kernel), shape, arguments_of(arguments, count));
    replace(of, task, made.complete());
  });
}

flotilla_status flotilla_recording_set_copy(flotilla_recording recording, size_t task,
                                            flotilla_place to, flotilla_place from, size_t bytes) {
  return guarded("flotilla_recording_set_copy", [&] {
    held_recording& of = object(recording);
    replace(of, task, copy_of(to, from, bytes).what);
  });
}

flotilla_status flotilla_recording_set_fill(flotilla_recording recording, size_t task,
                                            flotilla_place to, void const* value,
                                            size_t value_bytes, size_t count) {
  return guarded("flotilla_recording_set_fill", [&] {
    held_recording& of = object(recording);
    replace(of, task, fill_of(to, value, value_bytes, count).what);
  });
}

flotilla_status flotilla_recording_size(flotilla_recording recording, size_t* count) {
  return guarded("flotilla_recording_size",
                 [&] { required(count, "count") = object(recording).tasks.size(); });
}
