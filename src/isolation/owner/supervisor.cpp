// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/supervisor.hpp"

#include <cuda.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "isolation/channel/system_error.hpp"
#include "isolation/channel/system_thread.hpp"

namespace flotilla::isolated {

void supervisor::reserve(std::size_t workers) {
  workers_.reserve(workers);
  polled_.reserve(workers);
  waits_.reserve(workers + 1);
}

supervisor::supervisor() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_.valid()) { throw_refused("eventfd", "the supervisor of worker processes"); }
  reserve(0);
  start_thread("the supervisor of worker processes", [this] { run(); });
}

void supervisor::wake() noexcept {
  std::uint64_t const one = 1;
  static_cast<void>(::write(bell_.get(), &one, sizeof one) == sizeof one);
}

std::shared_ptr<worker_process> supervisor::start(std::string const& program, int host_memory) {
  std::shared_ptr<worker_process> started;
  std::promise<void> made;
  {
    std::lock_guard const lock{mutex_};
    orders_.emplace_back([&] {
      try {
        {
          std::lock_guard const inner{mutex_};
          reserve(workers_.size() + 1);
        }
        auto worker = std::make_shared<worker_process>(program, host_memory);
        {
          std::lock_guard const inner{mutex_};
          workers_.push_back(worker);
        }
        // This object keeps the worker until it is reaped. When all users are gone, it must end.
        auto* const used = worker.get();
        started = {used, [kept = std::move(worker)](worker_process* unused) {
                     unused->lose(CUDA_ERROR_LAUNCH_FAILED, "nobody needs it any more");
                   }};
        made.set_value();
      } catch (...) { made.set_exception(std::current_exception()); }
    });
  }
  wake();
  made.get_future().get();
  return started;
}

std::size_t supervisor::running() const {
  std::lock_guard const lock{mutex_};
  return workers_.size();
}

void supervisor::run() noexcept {
  while (true) {
    std::vector<std::function<void()>> orders;
    {
      std::lock_guard const lock{mutex_};
      orders.swap(orders_);
    }
    for (auto const& each : orders) { each(); }
    wait();
  }
}

void supervisor::wait() noexcept {
  {
    std::lock_guard const lock{mutex_};
    polled_ = workers_;
  }
  waits_.assign({{bell_.get(), POLLIN, 0}});
  for (auto const& each : polled_) { waits_.push_back({each->pidfd(), POLLIN, 0}); }
  bool const is_known = ::poll(waits_.data(), waits_.size(), -1) >= 0;
  if (!is_known) {
    // RLIMIT_NOFILE may have become smaller than the number of workers. So ask for each of them.
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    for (pollfd& each : waits_) { each.revents = POLLIN; }
  }
  std::uint64_t rung = 0;
  if (waits_[0].revents != 0) {
    static_cast<void>(::read(bell_.get(), &rung, sizeof rung) == sizeof rung);
  }
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    if (waits_[i + 1].revents == 0 || !polled_[i]->reap(is_known ? 0 : WNOHANG)) { continue; }
    std::lock_guard const lock{mutex_};
    std::erase(workers_, polled_[i]);
  }
  polled_.clear();
}

}  // namespace flotilla::isolated
