#include "cpu_driver/order_group.hpp"

#include <utility>

#include "cpu_driver/stream.hpp"

namespace flotilla::cpu_driver {

void order_group::arrive(stream& where, operation& made) noexcept {
  if (where.kind() == stream_kind::non_blocking) { return; }
  made.sequence = ++sequence_;
  if (where.kind() == stream_kind::legacy) {
    legacy_ = &where;
    ++legacy_pending_;
    return;
  }
  ++blocking_pending_;
  if (!where.member_) {
    where.member_ = true;
    where.next_member_ = std::exchange(members_, &where);
  }
}

bool order_group::may_start(stream const& asked, operation const& head) noexcept {
  bool passes = true;
  if (asked.kind() == stream_kind::legacy) {
    passes = passes_blocking(head);
  } else if (asked.kind() == stream_kind::blocking) {
    passes = passes_legacy(head);
  }
  holding_ |= !passes;
  return passes;
}

bool order_group::passes_legacy(operation const& head) const noexcept {
  if (legacy_pending_ == 0 || legacy_->head_ == nullptr) { return true; }
  // Looking at a stream, or ending it, is no work that the NULL stream orders.
  if (std::holds_alternative<reach_latch>(head.what) ||
      std::holds_alternative<close_stream>(head.what)) {
    return true;
  }
  return legacy_->head_->sequence > head.sequence;
}

bool order_group::passes_blocking(operation const& head) const noexcept {
  if (blocking_pending_ == 0) { return true; }
  for (stream const* other = members_; other != nullptr; other = other->next_member_) {
    if (other->head_ != nullptr && other->head_->sequence < head.sequence) { return false; }
  }
  return true;
}

bool order_group::complete(stream const& of) noexcept {
  if (of.kind() == stream_kind::non_blocking) { return false; }
  --(of.kind() == stream_kind::legacy ? legacy_pending_ : blocking_pending_);
  return std::exchange(holding_, false);
}

void order_group::leave(stream& gone) noexcept {
  if (gone.kind() == stream_kind::non_blocking) { return; }
  --(gone.kind() == stream_kind::legacy ? legacy_pending_ : blocking_pending_);
  if (!gone.member_) { return; }
  stream** link = &members_;
  while (*link != &gone) { link = &(*link)->next_member_; }
  *link = gone.next_member_;
}

}  // namespace flotilla::cpu_driver
