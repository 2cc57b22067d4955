// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/chunk_builder.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/pause.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

namespace {

using std::chrono::microseconds;

// How long to wait for the lease of a device in order to register memory, and how long to wait for
// a piece of memory. If the time is over, items become single tasks, which wait for places in the
// window only. So a bulk never waits longer for its predecessors than its single tasks would.
constexpr microseconds max_wait_for_lease{200};
constexpr microseconds max_wait_for_piece{2000};

// The number of items to submit one by one in each of these cases. Then another chunk is tried.
constexpr std::size_t alone_without_limit = 32;  // the kernel may have been measured by then
constexpr std::size_t alone_without_memory = 1024;
constexpr std::size_t alone_after_few = 256;  // the last chunk had too few items

std::uint32_t blocks_of(extent const& grid) noexcept { return grid.x * grid.y * grid.z; }

}  // namespace

/// A wait for a piece of memory.
class chunk_builder::piece_wait {
 public:
  piece_wait(chunk_builder const& builder, place const& from) noexcept
      : parts_(builder.parts_),
        memory_(builder.memory_of(from)),
        device_(from.inbound == nullptr ? std::nullopt : std::optional{from.index}),
        policy_(policies().resolved(policies().of_task(from.device()))),
        seen_(memory_.returns()),
        piece_(memory_.take()) {}

  [[nodiscard]] bool done() noexcept {
    if (piece_ == chunk_memory::no_piece && has_returns()) {
      seen_ = memory_.returns();
      piece_ = memory_.take();
    }
    return piece_ != chunk_memory::no_piece;
  }
  bool help(backoff& state) {
    parts_.usage.check_usable();
    bool const moved =
        parts_.devices.help(state.filter(), device_, [this] { return has_returns(); });
    for (int i = 0; i < 64 && policy_ != wait_policy::blocking && !has_returns(); ++i) {
      base::pause();
    }
    return moved;
  }
  [[nodiscard]] static bool runs_continuations() noexcept { return false; }
  void idle(backoff& state, waiter::deadline until) const {
    policies().idle(policy_, state.next_round(), until);
  }
  [[nodiscard]] slow_waits::wait& age() noexcept { return age_; }
  [[nodiscard]] std::uint32_t piece() const noexcept { return piece_; }

 private:
  [[nodiscard]] policy_table const& policies() const noexcept {
    return parts_.waits.with().policies;
  }
  [[nodiscard]] bool has_returns() const noexcept { return memory_.returns() != seen_; }

  parts const& parts_;
  chunk_memory& memory_;
  std::optional<unsigned> const device_;
  wait_policy const policy_;
  std::uint32_t seen_;  // last seen value of chunk_memory::returns
  std::uint32_t piece_;
  slow_waits::wait age_{.what = "a submit that waits for records of a bulk", .begun = {}};
};

bool chunk_builder::grow(place const& from, chunk_memory& memory) const {
  unsigned const host = parts_.waits.with().shared.host_device;
  device_driver& device = parts_.devices[from.inbound == nullptr ? host : from.index];
  auto lease = device.gate().take_until(std::chrono::steady_clock::now() + max_wait_for_lease);
  if (!lease) { return false; }
  device_set::lease_guard guard{parts_.devices, device, std::move(*lease)};
  try {
    context::current_scope const scope{guard.lease()};
    CUresult const answer = memory.grow();
    parts_.waits.with().shared.faults.note(answer, device.index());
    return answer == CUDA_SUCCESS;
  } catch (error const&) {
    return false;  // the context cannot be made current, so the tasks fail
  }
}

std::uint32_t chunk_builder::take_piece(place const& from) {
  chunk_memory& memory = memory_of(from);
  std::uint32_t piece = memory.take();
  bool const is_inside = callable_frame::innermost(parts_.waits.with().shared.id) != nullptr;
  if (piece != chunk_memory::no_piece || is_inside) { return piece; }
  if (memory.may_grow() && grow(from, memory)) { piece = memory.take(); }
  if (piece != chunk_memory::no_piece) { return piece; }
  piece_wait wait{*this, from};
  static_cast<void>(
      parts_.waits.until(wait, std::chrono::steady_clock::now() + max_wait_for_piece));
  return wait.piece();
}

chunk_limits::limit chunk_builder::limit_of(chunk_form const& form, extent const& grid,
                                            place const& to, std::size_t left) const noexcept {
  std::optional<unsigned> const device =
      to.inbound == nullptr ? std::nullopt : std::optional{to.index};
  chunk_limits::limit limit = parts_.limits.of(form.kernel, grid, form.block, device);
  if (limit.items == 0) { return limit; }
  std::size_t const max = std::min<std::size_t>(
      limit.items, chunk_memory::piece_bytes / detail::twin_record_stride(form.argument_bytes));
  // Chunks of the same size, so that the last one is not too small.
  std::size_t const chunks = left / max + (left % max != 0 ? 1 : 0);
  std::size_t items = left / chunks + 1;
  if (!device) {
    // The devices take chunks one by one. With smaller chunks towards the end, they finish at
    // about the same time.
    items = std::max<std::size_t>(left / (2 * parts_.devices.size()), chunk_limits::min_items);
    if (left < items + chunk_limits::min_items) { items = left; }
  }
  limit.items = static_cast<std::uint32_t>(std::min({items, max, left}));
  return limit;
}

bool chunk_builder::begin(chunk_form const& form, extent const& grid, place const& to,
                          std::size_t first) {
  std::size_t const left = in_.size() - first;
  alone_ = left;
  if (left < chunk_limits::min_items) { return false; }
  max_ = limit_of(form, grid, to, left);
  alone_ = alone_without_limit;
  if (max_.items == 0) { return false; }
  alone_ = alone_without_memory;
  piece_ = take_piece(to);
  if (piece_ == chunk_memory::no_piece) { return false; }
  alone_ = 0;
  to_ = &to;
  pin_.emplace(parts_.reclaimer);
  form_ = form;
  grid_ = grid;
  records_ = memory_of(to).host(piece_);
  first_ = first;
  count_ = blocks_ = 0;
  blocks_each_ = blocks_of(grid);
  return true;
}

bool chunk_builder::fits(chunk_form const& form, extent const& grid,
                         place const& to) const noexcept {
  if (count_ == max_.items || form != form_ || &to != to_) { return false; }
  std::uint64_t const own = std::uint64_t{grid.x} * grid.y * grid.z;
  if (own == blocks_each_) { return true; }
  // The chunk gets a table of its blocks.
  std::size_t const bytes = (count_ + 1) * detail::twin_record_stride(form.argument_bytes) +
                            (blocks_ + own) * sizeof(std::uint32_t);
  return own <= max_.blocks_of_item && blocks_ + own <= max_.blocks &&
         bytes <= chunk_memory::piece_bytes;
}

void chunk_builder::add(extent const& grid, void const* arguments) noexcept {
  detail::twin_record const head{blocks_, {grid.x, grid.y, grid.z}};
  std::byte* const at =
      records_ + std::size_t{count_} * detail::twin_record_stride(form_.argument_bytes);
  std::memcpy(at, &head, sizeof head);
  if (form_.argument_bytes != 0) { std::memcpy(at + sizeof head, arguments, form_.argument_bytes); }
  std::uint32_t const own = blocks_of(grid);
  if (own != blocks_each_) { blocks_each_ = 0; }
  blocks_ += own;
  ++count_;
}

void chunk_builder::add_written(std::size_t items) noexcept {
  count_ = static_cast<std::uint32_t>(items);
  blocks_ = count_ * blocks_each_;
}

void chunk_builder::write_table() noexcept {
  std::uint32_t const stride = detail::twin_record_stride(form_.argument_bytes);
  std::byte* at = records_ + std::size_t{count_} * stride;
  for (std::uint32_t i = 0; i < count_; ++i) {
    detail::twin_record head;
    std::memcpy(&head, records_ + std::size_t{i} * stride, sizeof head);
    for (std::uint32_t left = head.grid[0] * head.grid[1] * head.grid[2]; left != 0; --left) {
      std::memcpy(at, &i, sizeof i);
      at += sizeof i;
    }
  }
}

void chunk_builder::submit(std::size_t& submitted) {
  std::uint32_t const stride = detail::twin_record_stride(form_.argument_bytes);
  if (count_ < chunk_limits::min_items) {
    alone_ = alone_after_few;
    for (std::uint32_t i = 0; i < count_; ++i) {
      recorded_item const item{form_, records_ + std::size_t{i} * stride, pin_->epoch()};
      parts_.tasks.submit_records(item, options_, *to_, in_, first_ + i);
      ++submitted;
    }
    return;
  }
  if (blocks_each_ == 0) { write_table(); }
  chunk_of_items const chunk{
      form_, grid_, {piece_, count_, blocks_, blocks_each_, stride}, pin_->epoch()};
  parts_.tasks.submit_records(chunk, options_, *to_, in_, first_);
  piece_ = chunk_memory::no_piece;  // the chunk gives it back
  submitted += count_;
}

void chunk_builder::drop() noexcept {
  if (to_ != nullptr && piece_ != chunk_memory::no_piece) { memory_of(*to_).give_back(piece_); }
  to_ = nullptr;
  piece_ = chunk_memory::no_piece;
  pin_.reset();
}

void chunk_builder::close(std::size_t& submitted) {
  if (to_ == nullptr) { return; }
  try {
    submit(submitted);
  } catch (...) {
    drop();
    throw;
  }
  drop();
}

}  // namespace flotilla::dispatch
