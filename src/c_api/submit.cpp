// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/submit.hpp"

#include <cstddef>

#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"

namespace flotilla::c_api {

void add_tickets(dependency_list& to, flotilla_ticket const* tickets, std::size_t count,
                 char const* name) {
  if (count == 0) { return; }
  check_not_null(tickets, name);
  for (std::size_t i = 0; i < count; ++i) {
    try {
      to.add(object(tickets[i]).id());
    } catch (refused_call const& why) {
      throw refused_call(why.status(),
                         std::string{name} + "[" + std::to_string(i) + "]: " + why.what());
    }
  }
}

std::optional<device_ordinal> requested_device(int given) {
  if (given == FLOTILLA_ANY_DEVICE) { return std::nullopt; }
  if (given < 0) { throw unknown_device("there is no device " + std::to_string(given)); }
  return device_ordinal{static_cast<unsigned>(given)};
}

task_options options_of(flotilla_task_options const& given) {
  // Programs that were compiled with an earlier header lack the last members.
  check_size(given, "flotilla_task_options", offsetof(flotilla_task_options, timeout_ns));
  task_options made;
  made.device = requested_device(given.device);
  if (given.label != nullptr) { made.label = given.label; }
  add_tickets(made.after, given.after, given.after_count, "options->after");
  add_tickets(made.after_end, given.after_end, given.after_end_count, "options->after_end");
  made.priority = given.priority;
  made.batch = given.alone == 0;
  if (given.size >= offsetof(flotilla_task_options, repeatable)) {
    made.deadline = deadline_in(given.timeout_ns);
  }
  // The size of a struct whose last member is `repeatable` includes bytes that have no value.
  if (given.size >= offsetof(flotilla_task_options, unused)) {
    made.repeatable = given.repeatable != 0;
  }
  if (given.size >= sizeof given) { made.rank = given.rank; }
  return made;
}

}  // namespace flotilla::c_api
