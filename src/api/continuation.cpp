// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/detail/continuation.hpp>

#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/task/ticket.hpp>

#include "api/state_of.hpp"
#include "base/access.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

dispatch::runtime_state& state_of_task(ticket const& task) {
  if (!task.valid()) {
    throw invalid_argument("the ticket names no task: it was default-constructed or moved from");
  }
  return state_of(access::impl(task));
}

}  // namespace

continuation::~continuation() = default;

void refuse_null_continuation() {
  throw invalid_argument("then: the callable is null; it must be callable with an exception_ptr");
}

void attach(ticket const& of, std::unique_ptr<continuation> what) {
  state_of_task(of).continuations.after(of.id(), std::move(what));
}

bool has_ended(ticket const& of) {
  dispatch::runtime_state& runtime = state_of_task(of);
  runtime.usage.check_process();
  return runtime.query.has_ended(of.id());
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
