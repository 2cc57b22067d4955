// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/ticket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

#include <flotilla/c/task.h>
#include <flotilla/error/error.hpp>
#include <flotilla/task/wait_any.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"
#include "c_api/submit.hpp"

namespace flotilla::c_api {

namespace {

using then_function = void (*)(void* user, flotilla_status status, char const* text);

void wait_all(flotilla_ticket const* tickets, std::size_t count) {
  dependency_list checked;  // all handles are checked before the first wait
  add_tickets(checked, tickets, count, "tickets");
  std::exception_ptr first;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      object(tickets[i]).wait();
    } catch (would_deadlock const&) {
      throw;  // the task has not ended
    } catch (...) {
      if (first == nullptr) { first = std::current_exception(); }
    }
  }
  if (first != nullptr) { std::rethrow_exception(first); }
}

/// Returns the time at which a wait of this length ends.
std::chrono::steady_clock::time_point end_of_wait(std::uint64_t nanoseconds) noexcept {
  using clock = std::chrono::steady_clock;
  clock::time_point const now = clock::now();
  auto const left = static_cast<std::uint64_t>((clock::time_point::max() - now).count());
  return now + clock::duration{static_cast<clock::rep>(std::min(nanoseconds, left))};
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_ticket_release(flotilla_ticket ticket) {
  return guarded("flotilla_ticket_release", [&] {
    if (!ticket_table::get().remove(ticket.id)) { refuse_handle(ticket.id, kinds::ticket); }
  });
}

flotilla_status flotilla_ticket_ready(flotilla_ticket ticket, int* ready) {
  return guarded("flotilla_ticket_ready",
                 [&] { required(ready, "ready") = object(ticket).ready() ? 1 : 0; });
}

flotilla_status flotilla_ticket_wait(flotilla_ticket ticket) {
  return guarded("flotilla_ticket_wait", [&] { object(ticket).wait(); });
}

flotilla_status flotilla_ticket_wait_for(flotilla_ticket ticket, uint64_t nanoseconds, int* ended) {
  return guarded("flotilla_ticket_wait_for", [&] {
    required(ended, "ended") = 0;
    auto const& task = object(ticket);
    try {
      *ended = task.wait_until(end_of_wait(nanoseconds)) ? 1 : 0;
    } catch (flotilla::used_after_fork const&) {
      throw;
    } catch (...) {  // the error of the task, or of the wait
      *ended = task.ready() ? 1 : 0;
      throw;
    }
  });
}

flotilla_status flotilla_wait_all(flotilla_ticket const* tickets, size_t count) {
  return guarded("flotilla_wait_all", [&] { wait_all(tickets, count); });
}

flotilla_status flotilla_wait_any(flotilla_ticket const* tickets, size_t count, size_t* index) {
  return guarded("flotilla_wait_any", [&] {
    check_not_null(index, "index");
    flotilla::dependency_list all;
    add_tickets(all, tickets, count, "tickets");
    *index = flotilla::wait_any(all);
  });
}

flotilla_status flotilla_ticket_cancel(flotilla_ticket ticket, int* cancelled) {
  return guarded("flotilla_ticket_cancel", [&] {
    bool const is_cancelled = object(ticket).cancel();
    if (cancelled != nullptr) { *cancelled = is_cancelled ? 1 : 0; }
  });
}

flotilla_status flotilla_ticket_device(flotilla_ticket ticket, int* device) {
  return guarded("flotilla_ticket_device", [&] {
    auto const found = object(ticket).device();
    required(device, "device") = found ? static_cast<int>(found->value) : FLOTILLA_ANY_DEVICE;
  });
}

flotilla_status flotilla_ticket_then(flotilla_ticket ticket,
                                     void (*function)(void* user, flotilla_status status,
                                                      char const* text),
                                     void* user) {
  return guarded("flotilla_ticket_then", [&] {
    check_not_null(function, "function");
    object(ticket).then([function, user](std::exception_ptr const& why) {
      if (why == nullptr) { return function(user, FLOTILLA_SUCCESS, ""); }
      described_error const error = describe(why);
      function(user, error.details.status, error.text.c_str());
    });
  });
}
