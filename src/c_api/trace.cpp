// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/trace.h>

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
    flotilla::trace_summary found;
    end_object(trace_table::get(), trace.id, kinds::trace, &held_runtime::traces,
               [&](held_trace& ending) { found = ending.held.end(); });
    if (summary == nullptr) { return; }
    summary->tasks = found.tasks;
    summary->dropped = found.dropped;
    summary->unfinished = found.unfinished;
    summary->bytes = found.bytes;
  });
}
