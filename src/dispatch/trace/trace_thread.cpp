// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_thread.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

namespace flotilla::dispatch {

namespace {

std::string name_of_this_thread() {
  char name[16] = {};  // the longest name of a thread on Linux
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 ? name : "";
}

}  // namespace

trace_thread::trace_thread(std::uint32_t index, trace_budget& budget)
    : index_(index), tid_(::gettid()), name_(name_of_this_thread()), budget_(budget) {}

trace_thread::queue* trace_thread::make_queue() noexcept {
  if (!budget_.take(buffer_bytes)) { return nullptr; }
  try {
    own_ = std::make_unique<queue>(buffer_bytes / sizeof(std::uint64_t));
  } catch (std::bad_alloc const&) {
    budget_.give_back(buffer_bytes);
    return nullptr;
  }
  queue_.store(own_.get(), std::memory_order_release);  // pairs with the acquire in take_all
  return own_.get();
}

void trace_thread::push(std::span<std::uint64_t const> words) noexcept {
  queue* into = queue_.load(std::memory_order_relaxed);
  if (into == nullptr) { into = make_queue(); }
  if (into == nullptr || into->write_available() < words.size()) {
    std::uint64_t const tasks = tasks_of(std::bit_cast<record_head>(words[0]));
    base::add(dropped_, std::max<std::uint64_t>(tasks, 1));
    base::add(dropped_tasks_, tasks);
    return;
  }
  into->push(words.data(), words.size());  // the writer sees all words of the record or none
}

void trace_thread::free_buffer() noexcept {
  if (own_ == nullptr) { return; }
  queue_.store(nullptr, std::memory_order_relaxed);
  own_.reset();
  budget_.give_back(buffer_bytes);
}

}  // namespace flotilla::dispatch
