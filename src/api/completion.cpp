#include <flotilla/completion.hpp>

#include <string>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"

namespace flotilla {

namespace {

using state_ptr = std::shared_ptr<dispatch::completion_state>;

state_ptr const& checked(state_ptr const& of) {
  if (of == nullptr) { throw invalid_argument("the completion names nothing: it was moved from, or never given one"); }
  return of;
}

/// The runtime that all tickets are of.
dispatch::core& core_of(std::span<ticket const> tickets, char const* call) {
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    if (!tickets[i].valid()) {
      throw invalid_argument(std::string{call} + ": ticket " + std::to_string(i) + " names no task");
    }
    if (tickets[i].id().runtime != tickets[0].id().runtime) {
      throw wrong_runtime(std::string{call} + ": ticket " + std::to_string(i) + " is of another runtime than ticket 0");
    }
  }
  if (tickets.empty()) { throw invalid_argument(std::string{call} + ": there is no ticket to wait for"); }
  return *tickets[0].id().runtime;
}

bool wait_for_end(state_ptr const& of, std::optional<std::chrono::steady_clock::time_point> until) {
  dispatch::completion_state& state = *checked(of);
  // The runtime is there as long as this has not come; afterwards it need not be.
  if (!state.done.load(std::memory_order_acquire) && !state.table->owner->wait(state, until)) { return false; }
  state.asked.store(true, std::memory_order_relaxed);
  if (state.error != nullptr) { std::rethrow_exception(state.error); }
  return true;
}

}  // namespace

namespace detail {

continuation::~continuation() = default;

void refuse_null_continuation() { throw invalid_argument("then: the callable is null"); }

completion attach(ticket const& of, std::unique_ptr<continuation> what) {
  if (!of.valid()) { throw invalid_argument("the ticket names no task: it was moved from, or never given one"); }
  return completion{of.id().runtime->continue_after(of.id(), std::move(what))};
}

completion attach(completion const& of, std::unique_ptr<continuation> what) {
  state_ptr const on = checked(of.state_);  // a copy: `what` may destroy `of` before this returns
  return completion{dispatch::core::continue_after(on, std::move(what))};
}

bool has_ended(ticket const& of) {
  if (!of.valid()) { throw invalid_argument("the ticket names no task: it was moved from, or never given one"); }
  return of.id().runtime->has_ended_now(of.id());
}

bool has_ended(completion const& of) { return checked(of.state_)->done.load(std::memory_order_acquire); }

}  // namespace detail

bool completion::ready() const {
  if (detail::has_ended(*this)) { return true; }
  state_->table->owner->pump_for_ready();
  return detail::has_ended(*this);
}

void completion::wait() const { wait_for_end(state_, std::nullopt); }

bool completion::wait_until(std::chrono::steady_clock::time_point when) const { return wait_for_end(state_, when); }

completion when_all(std::span<ticket const> tickets) {
  if (!tickets.empty()) { return completion{core_of(tickets, "when_all").gather(tickets)}; }
  auto const made = std::make_shared<dispatch::completion_state>(nullptr);
  made->done.store(true, std::memory_order_release);
  return completion{made};
}

std::size_t wait_any(std::span<ticket const> tickets) {
  return *core_of(tickets, "wait_any").wait_any(tickets, std::nullopt);
}

std::optional<std::size_t> wait_any_until(std::span<ticket const> tickets,
                                          std::chrono::steady_clock::time_point when) {
  return core_of(tickets, "wait_any").wait_any(tickets, when);
}

}  // namespace flotilla
