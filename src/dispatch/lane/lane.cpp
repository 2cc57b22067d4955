#include "dispatch/lane.hpp"

#include <cassert>
#include <new>
#include <utility>

namespace flotilla::dispatch {

completion_page::completion_page(context::floating_context const& context, unsigned lanes)
    : lanes_(lanes), memory_(context, (lanes + 1) * stride * sizeof(std::uint64_t)),
      numbers_(reinterpret_cast<std::uint64_t*>(memory_.host())) {
  for (unsigned lane = 0; lane < lanes; ++lane) { numbers_[lane * stride] = first_number; }
}

lane::lane(context::floating_context const& context, completion_page& page, unsigned index)
    : context_(context), page_(page), index_(index), last_number_(page.number(index)) {}

CUresult lane::open(int priority) {
  if (stream_ != nullptr) { return CUDA_SUCCESS; }
  try {
    ring_.resize(most_batches);
  } catch (std::bad_alloc const&) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUresult const answer = context_.api().stream_create_with_priority(&stream_, CU_STREAM_NON_BLOCKING, priority);
  if (answer != CUDA_SUCCESS) { stream_ = nullptr; }
  return answer;
}

void lane::destroy() noexcept {
  if (stream_ != nullptr) { context_.api().stream_destroy(std::exchange(stream_, nullptr)); }
}

lane::batch& lane::begin() {
  assert(room());
  batch& made = ring_[(first_ + open_) % ring_.size()];
  ++open_;
  made.number = last_number_ + ++begun_;
  made.by = nullptr;
  made.count = 0;
  made.awaits = made.lasting = false;
  made.begun = std::chrono::steady_clock::now();
  return made;
}

void lane::cancel() noexcept {
  open_ -= std::exchange(begun_, 0);
}

void lane::finish_itself() noexcept {
  last_number_ += std::exchange(begun_, 0);
}

CUresult lane::finish() {
  finish_itself();
  CUresult const answer =
    context_.api().stream_write_value_64(stream_, counter(), last_number_, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (answer != CUDA_SUCCESS) { asked_number_.store(last_number_, std::memory_order_release); }
  return answer;
}

lane::batch* lane::done() noexcept {
  if (open_ == begun_) { return nullptr; }
  batch& first = ring_[first_];
  if (page_.number(index_) >= first.number) { return &first; }
  ask();
  return page_.number(index_) >= first.number ? &first : nullptr;
}

void lane::ask() noexcept {
  std::uint64_t const asked = asked_number_.load(std::memory_order_acquire);  // pairs with the release in finish
  if (asked <= page_.number(index_)) { return; }
  // The device was not told to write this one. The stream knows when all that it holds is done.
  if (context_.api().stream_query(stream_) == CUDA_SUCCESS) { page_.raise(index_, asked); }
}

void lane::drop() noexcept {
  first_ = (first_ + 1) % ring_.size();
  --open_;
}

}  // namespace flotilla::dispatch
