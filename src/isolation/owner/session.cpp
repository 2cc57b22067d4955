// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/session.hpp"

#include <new>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"
#include "isolation/owner/owner.hpp"

namespace flotilla::isolated {

namespace {

std::string fault_text(CUresult status) {
  try {
    return "a kernel faulted: " + to_string(driver::status_of(status));
  } catch (std::bad_alloc const&) { return "a fault"; }  // without memory, the loss still counts
}

}  // namespace

worker_process* thread_channel::of(isolated_device& device) {
  if (worker_ != nullptr && generation_ == device.workers().serving()) { return worker_.get(); }
  drop();
  worker_ = device.worker(generation_);
  if (worker_ != nullptr) { number_ = worker_->take_channel(); }
  return worker_.get();
}

thread_state::~thread_state() {
  if (scratch != nullptr) { owner::get().host().free(scratch); }
}

session::session(isolated_device& on, operation what, std::uint32_t context, std::uint32_t user)
    : on_(on), context_(context), out_({}), in_({}) {
  thread_channel& mine = thread_state::get().channels[static_cast<std::size_t>(on.ordinal())];
  worker_ = mine.of(on);
  if (worker_ == nullptr) { return; }
  number_ = mine.number();
  if (!on.workers().knows(user, mine.generation())) { missed_ = on.workers().last_status(); }
  if (worker_process::is_shared(number_)) { lock_ = std::unique_lock{worker_->shared_channel()}; }
  out_ = message_writer{worker_->at(number_).request};
  out_.put(request_head{what, 0, context});
}

void session::put_objects(std::span<std::uint32_t const> indices) {
  more_uses_.assign(indices.begin(), indices.end());
  out_.put(static_cast<std::uint32_t>(indices.size()));
  out_.put_bytes(indices.data(), indices.size_bytes());
}

std::vector<std::uint32_t> session::uses() const {
  std::vector<std::uint32_t> all(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(used_));
  all.insert(all.end(), more_uses_.begin(), more_uses_.end());
  return all;
}

record session::recorded() const {
  record made;
  made.request.assign(request().begin(), request().end());
  made.uses = uses();
  return made;
}

CUresult session::post() {
  if (worker_ == nullptr) { return CUDA_ERROR_SYSTEM_NOT_READY; }
  if (missed_ != CUDA_SUCCESS) { return missed_; }
  if (!out_.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  posted_changes& posted = on_.posted();
  if (!posted.has_room(out_.size())) { return send(); }
  posted.add(out_.written());
  return CUDA_SUCCESS;
}

void send_posted(isolated_device& on) {
  posted_changes& posted = on.posted();
  if (posted.empty()) { return; }
  session one{on, operation::batch, 0};
  one.out().put_bytes(posted.bytes().data(), posted.bytes().size());
  posted.clear();
  CUresult const status = one.send();
  if (status != CUDA_SUCCESS) { posted.fail(status); }
}

CUresult session::send() {
  if (worker_ == nullptr) { return CUDA_ERROR_SYSTEM_NOT_READY; }
  if (int const lost = worker_->lost().load(std::memory_order_relaxed); lost != 0) {
    return static_cast<CUresult>(lost);
  }
  if (missed_ != CUDA_SUCCESS) { return missed_; }
  if (!out_.ok()) { return CUDA_ERROR_INVALID_VALUE; }  // the arguments do not fit
  auto& answer = thread_state::get().answer;
  std::int32_t status = 0;
  std::size_t used = 0;
  channel_caller end{worker_->at(number_)};
  bool const has_answer = end.call(out_.size(), worker_->lost(), answer, status, used);
  is_unanswered_ = !has_answer || status < CUDA_SUCCESS || status > CUDA_ERROR_UNKNOWN;
  if (is_unanswered_) {
    worker_->lose(CUDA_ERROR_LAUNCH_FAILED, "its worker process has sent an invalid answer");
    return static_cast<CUresult>(worker_->lost().load());
  }
  in_ = message_reader{std::span{answer}.first(used)};
  auto const found = static_cast<CUresult>(status);
  if (found != CUDA_SUCCESS && is_sticky(driver::status_of(found))) {
    // Nothing of the process can be used any more. Ending it now lets the successor begin earlier.
    worker_->report_fault(status, fault_text(found));
    return static_cast<CUresult>(worker_->lost().load());
  }
  return found;
}

CUresult session::enqueue() {
  CUresult const answer = send();
  return is_unanswered_ ? CUDA_SUCCESS : answer;
}

}  // namespace flotilla::isolated
