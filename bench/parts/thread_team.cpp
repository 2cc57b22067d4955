// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "thread_team.hpp"

#include <utility>

namespace flotilla::bench {

thread_team::thread_team(int members)
    : failures_(static_cast<std::size_t>(members)), start_{members}, finish_{members} {
  for (int i = 1; i < members; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
  }
}

thread_team::~thread_team() {
  body_ = nullptr;
  start_.arrive_and_wait();
  for (std::thread& each : threads_) { each.join(); }
}

void thread_team::run(std::function<void(int)> const& body) {
  body_ = &body;
  start_.arrive_and_wait();
  call(0);
  finish_.arrive_and_wait();
  for (std::exception_ptr& each : failures_) {
    if (each) { std::rethrow_exception(std::exchange(each, nullptr)); }
  }
}

void thread_team::serve(int member) noexcept {
  while (true) {
    start_.arrive_and_wait();
    if (body_ == nullptr) { return; }
    call(member);
    finish_.arrive_and_wait();
  }
}

void thread_team::call(int member) noexcept {
  try {
    (*body_)(member);
  } catch (...) { failures_[static_cast<std::size_t>(member)] = std::current_exception(); }
}

}  // namespace flotilla::bench
