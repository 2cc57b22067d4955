// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/lane.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace flotilla::dispatch {

lane::lane(context::context_handle const& context, completion_page& page, wait_events& waits,
           unsigned index)
    : context_(context),
      page_(page),
      waits_(waits),
      index_(index),
      last_number_(page.number(index)) {}

CUresult lane::open(int priority) {
  if (stream_ != nullptr) { return CUDA_SUCCESS; }
  try {
    ring_.resize(max_batches);
    addresses_ = base::mapped_memory{max_batches * max_tasks * sizeof(slot_address)};
  } catch (std::bad_alloc const&) { return CUDA_ERROR_OUT_OF_MEMORY; }
  auto* tasks = reinterpret_cast<slot_address*>(addresses_.data());
  for (batch& each : ring_) { each.tasks = {std::exchange(tasks, tasks + max_tasks), max_tasks}; }
  CUresult const answer =
      context_.api().stream_create_with_priority(&stream_, CU_STREAM_NON_BLOCKING, priority);
  if (answer != CUDA_SUCCESS) { stream_ = nullptr; }
  return answer;
}

void lane::destroy() noexcept {
  if (stream_ != nullptr) { context_.api().stream_destroy(std::exchange(stream_, nullptr)); }
}

lane::batch& lane::begin() {
  assert(open_ < max_batches);
  batch& made = ring_[(first_ + open_) % ring_.size()];
  ++open_;
  made.number = last_number_ + ++begun_;
  made.carrier = nullptr;
  made.records = {};
  made.end_event = nullptr;
  made.count = 0;
  made.waits_on_device = made.long_running = made.has_status = made.is_chunk = made.exchanges =
      made.in_joint_run = false;
  page_.set_beside_next(index_, made.number, false);
  made.joined = begun_ > 1;
  made.begun = std::chrono::steady_clock::now();
  return made;
}

void lane::cancel() noexcept { open_ -= std::exchange(begun_, 0); }

void lane::commit() noexcept {
  last_number_ += std::exchange(begun_, 0);
  has_open_waits = false;  // who waits for the batch waits for them too
  publish_oldest();
}

CUresult lane::commit_with_write() {
  commit();
  CUresult const answer = context_.api().stream_write_value_64(stream_, counter(), last_number_,
                                                               CU_STREAM_WRITE_VALUE_DEFAULT);
  // release: pairs with the acquire in query
  if (answer != CUDA_SUCCESS) { unwritten_number_.store(last_number_, std::memory_order_release); }
  return answer;
}

void lane::commit_with_event(CUevent event) noexcept {
  assert(begun_ == 1);
  ring_[(first_ + open_ - 1) % ring_.size()].end_event = event;
  commit();
}

lane::batch* lane::done() noexcept {
  if (open_ == begun_) { return nullptr; }
  batch& first = ring_[first_];
  if (page_.number(index_) >= first.number) { return &first; }
  if (first.end_event != nullptr && context_.api().event_query(first.end_event) == CUDA_SUCCESS) {
    page_.raise(index_, first.number);
    return &first;
  }
  query();
  return page_.number(index_) >= first.number ? &first : nullptr;
}

bool lane::query(std::uint64_t suspect) noexcept {
  // acquire: pairs with the release in commit_with_write
  std::uint64_t unwritten = unwritten_number_.load(std::memory_order_acquire);
  if (suspect != 0 && oldest_number() == suspect) {
    if (std::uint64_t const ended = waits_.ended_from(suspect); ended > page_.number(index_)) {
      page_.raise(index_, ended);
      return true;
    }
    unwritten = std::max(unwritten, suspect);
  }
  if (unwritten <= page_.number(index_)) { return false; }
  // Work is in the stream before its number is published, so an empty stream has ended it.
  bool const has_ended = context_.api().stream_query(stream_) == CUDA_SUCCESS;
  if (!has_ended || unwritten <= page_.number(index_)) { return false; }
  page_.raise(index_, unwritten);
  return true;
}

void lane::drop() noexcept {
  first_ = (first_ + 1) % ring_.size();
  --open_;
  publish_oldest();
}

}  // namespace flotilla::dispatch
