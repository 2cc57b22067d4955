// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/ticket.hpp>

#include <memory>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

dispatch::runtime_state& checked_state(detail::runtime_impl* impl) {
  if (impl == nullptr) {
    throw invalid_argument("the ticket names no task: it was default-constructed or moved from");
  }
  return dispatch::runtime_state::of(*impl);
}

}  // namespace

void ticket::drop() noexcept {
  dispatch::runtime_state::drop_ticket(checked_state(std::exchange(runtime_, nullptr)), slot_,
                                       generation_);
}

namespace detail {

continuation::~continuation() = default;

void refuse_null_continuation() {
  throw invalid_argument("then: the callable is null; it must be callable with an exception_ptr");
}

void attach(ticket const& of, std::unique_ptr<continuation> what) {
  checked_state(access::impl(of)).continuations.after(of.id(), std::move(what));
}

bool has_ended(ticket const& of) {
  dispatch::runtime_state& runtime = checked_state(access::impl(of));
  runtime.usage.check_process();
  return runtime.query.has_ended(of.id());
}

}  // namespace detail

bool ticket::ready() const { return checked_state(runtime_).ready(id()); }

void ticket::wait(std::optional<wait_policy> policy) const {
  checked_state(runtime_).wait(id(), policy, std::nullopt);
}

bool ticket::wait_until(std::chrono::steady_clock::time_point when) const {
  return checked_state(runtime_).wait(id(), std::nullopt, when);
}

bool ticket::cancel() const {
  dispatch::runtime_state const& runtime = checked_state(runtime_);
  runtime.usage.check_process();
  return runtime.query.cancel(id());
}

std::optional<device_ordinal> ticket::device() const {
  return checked_state(runtime_).query.device_of(id(), device_);
}

}  // namespace v0_1
}  // namespace flotilla
