#include <flotilla/ticket.hpp>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"

namespace flotilla {

namespace {

dispatch::core& core_of(task_id id) {
  if (id.runtime == nullptr) { throw invalid_argument("the ticket names no task: it was moved from, or never given one"); }
  return *id.runtime;
}

}  // namespace

ticket::ticket(ticket&& other) noexcept : id_(std::exchange(other.id_, {})), device_(other.device_) {}

ticket& ticket::operator=(ticket&& other) noexcept {
  if (this != &other) {
    drop();
    id_ = std::exchange(other.id_, {});
    device_ = other.device_;
  }
  return *this;
}

ticket::~ticket() { drop(); }

void ticket::drop() noexcept {
  // Member by member: a copy of the whole would wait for what has just been written to them.
  dispatch::core* const owner = id_.runtime;
  if (owner == nullptr) { return; }
  id_.runtime = nullptr;
  owner->drop_ticket(id_.slot, id_.generation);
}

bool ticket::ready() const { return core_of(id_).ready(*this); }

void ticket::wait(std::optional<schedule> how) const { core_of(id_).wait(*this, how, std::nullopt); }

bool ticket::wait_until(std::chrono::steady_clock::time_point when) const {
  return core_of(id_).wait(*this, std::nullopt, when);
}

std::optional<device_ordinal> ticket::device() const { return core_of(id_).device_of(id_, device_); }

}  // namespace flotilla
