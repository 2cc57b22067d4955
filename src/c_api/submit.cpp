// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/submit.hpp"

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
  check_size(given, "flotilla_task_options");
  task_options made;
  made.device = requested_device(given.device);
  if (given.label != nullptr) { made.label = given.label; }
  add_tickets(made.after, given.after, given.after_count, "options->after");
  add_tickets(made.after_end, given.after_end, given.after_end_count, "options->after_end");
  made.priority = given.priority;
  made.batch = given.alone == 0;
  made.deadline = deadline_in(given.timeout_ns);
  made.repeatable = given.repeatable != 0;
  made.rank = given.rank;
  return made;
}

}  // namespace flotilla::c_api
