// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/trace.hpp>

#include <utility>

#include "api/state_of.hpp"
#include "base/access.hpp"
#include "dispatch/trace/trace_session.hpp"

namespace flotilla {
inline namespace v0_1 {

trace::trace(runtime& owner, trace_options options)
    : session_(state_of(&detail::access::impl(owner)).traces.start(std::move(options))) {}

trace::trace(trace&&) noexcept = default;

trace& trace::operator=(trace&& other) noexcept {
  if (this != &other) {
    if (session_ != nullptr) { session_->end_and_report(); }
    session_ = std::move(other.session_);
  }
  return *this;
}

trace::~trace() {
  if (session_ != nullptr) { session_->end_and_report(); }
}

trace_summary trace::end() { return session_->end(); }

}  // namespace v0_1
}  // namespace flotilla
