#include "dispatch/lane.hpp"

#include <cassert>
#include <cstdlib>
#include <new>
#include <utility>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t page_bytes = 4096;  // what the driver pins
}

completion_page::completion_page(context::floating_context const& context, unsigned lanes) : context_(context) {
  std::size_t const bytes = (lanes * stride * sizeof(std::uint64_t) + page_bytes - 1) / page_bytes * page_bytes;
  host_.reset(static_cast<std::uint64_t*>(std::aligned_alloc(page_bytes, bytes)));
  if (host_ == nullptr) { throw std::bad_alloc(); }
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) { host_.get()[i] = first_number; }
  driver::table const& api = context.api();
  driver::check(api.mem_host_register(host_.get(), bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
                "cuMemHostRegister", context.subject());
  registered_ = true;
  if (CUresult const answer = api.mem_host_get_device_pointer(&device_, host_.get(), 0); answer != CUDA_SUCCESS) {
    unregister();
    driver::check(answer, "cuMemHostGetDevicePointer", context.subject());
  }
}

void completion_page::unregister() noexcept {
  if (std::exchange(registered_, false)) { context_.api().mem_host_unregister(host_.get()); }
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
  made.lasting = false;
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
