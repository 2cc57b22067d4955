// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/trace.h>

#include <utility>

#include <flotilla/trace.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

trace_options options_of(flotilla_trace_options const& given) {
  check_size(given, "flotilla_trace_options");
  check_not_null(given.file, "options->file");
  trace_options made{.file = given.file, .every = given.every};
  if (given.memory != 0) { made.memory = given.memory; }
  return made;
}

/// Takes a trace out of its table. @throws refused_call  It does not exist.
trace take(flotilla_trace handle) {
  held_trace& held = object(handle);
  held_runtime& owner = held.owner;
  trace taken = std::move(held.held);
  // If two threads end the trace, one of them fails here. Its `taken` has ended nothing.
  if (!trace_table::get().remove(handle.id)) { refuse_handle(handle.id, kinds::trace); }
  owner.traces.fetch_sub(1);
  return taken;
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_trace_begin(flotilla_runtime rt, flotilla_trace_options const* options,
                                     flotilla_trace* made) {
  return guarded("flotilla_trace_begin", [&] {
    required(made, "made").id = 0;
    held_runtime& owner = object(rt);
    made->id = trace_table::get().add(
        {owner, flotilla::trace{owner.rt, options_of(required(options, "options"))}});
    owner.traces.fetch_add(1);
  });
}

flotilla_status flotilla_trace_end(flotilla_trace trace, flotilla_trace_summary* summary) {
  return guarded("flotilla_trace_end", [&] {
    if (summary != nullptr) { check_size(*summary, "flotilla_trace_summary"); }
    flotilla::trace ending = take(trace);
    flotilla::trace_summary const found = ending.end();
    if (summary == nullptr) { return; }
    summary->tasks = found.tasks;
    summary->dropped = found.dropped;
    summary->unfinished = found.unfinished;
    summary->bytes = found.bytes;
  });
}
