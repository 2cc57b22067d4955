// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/legacy_stream_order.hpp"

#include <utility>

#include "cpu_driver/stream/stream.hpp"

namespace flotilla::cpu_driver {

void legacy_stream_order::arrive(stream& target, operation& added) noexcept {
  if (target.kind() == stream_kind::non_blocking) { return; }
  added.sequence = ++sequence_;
  if (target.kind() == stream_kind::legacy) {
    legacy_ = &target;
    ++legacy_pending_;
    return;
  }
  ++blocking_pending_;
  if (!target.member_) {
    target.member_ = true;
    target.next_member_ = std::exchange(members_, &target);
  }
}

bool legacy_stream_order::may_start(stream const& candidate, operation const& head) noexcept {
  bool passes = true;
  if (candidate.kind() == stream_kind::legacy) {
    passes = passes_blocking(head);
  } else if (candidate.kind() == stream_kind::blocking) {
    passes = passes_legacy(head);
  }
  holding_ |= !passes;
  return passes;
}

bool legacy_stream_order::passes_legacy(operation const& head) const noexcept {
  if (legacy_pending_ == 0 || legacy_->head_ == nullptr) { return true; }
  // Two operations of a blocking stream do not wait for the NULL stream: reach_latch, which
  // synchronises the blocking stream, and close_stream.
  if (std::holds_alternative<reach_latch>(head.what) ||
      std::holds_alternative<close_stream>(head.what)) {
    return true;
  }
  return legacy_->head_->sequence > head.sequence;
}

bool legacy_stream_order::passes_blocking(operation const& head) const noexcept {
  if (blocking_pending_ == 0) { return true; }
  for (stream const* other = members_; other != nullptr; other = other->next_member_) {
    if (other->head_ != nullptr && other->head_->sequence < head.sequence) { return false; }
  }
  return true;
}

bool legacy_stream_order::complete(stream const& completed) noexcept {
  if (completed.kind() == stream_kind::non_blocking) { return false; }
  --(completed.kind() == stream_kind::legacy ? legacy_pending_ : blocking_pending_);
  return std::exchange(holding_, false);
}

void legacy_stream_order::leave(stream& closed) noexcept {
  if (closed.kind() == stream_kind::non_blocking) { return; }
  --(closed.kind() == stream_kind::legacy ? legacy_pending_ : blocking_pending_);
  if (!closed.member_) { return; }
  stream** link = &members_;
  while (*link != &closed) { link = &(*link)->next_member_; }
  *link = closed.next_member_;
}

}  // namespace flotilla::cpu_driver
