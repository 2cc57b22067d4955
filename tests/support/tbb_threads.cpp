// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/tbb_threads.hpp"

#include <cstdio>
#include <stdexcept>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/tbb_calls.hpp"

namespace flotilla::test {

bool on_each_tbb_thread(int threads, std::function<void()> const& body) {
  std::atomic<int> inside{0};
  std::atomic<bool> complete{true};
  tbb_parallel_for_in_arena(threads, threads, [&](int) {
    // No body returns until all bodies have started. So each body runs on a different thread.
    ++inside;
    if (!eventually([&] { return inside.load() >= threads; })) {
      complete = false;
      return;
    }
    body();
  });
  return complete;
}

namespace {

void submit_and_wait(runtime& rt) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 8; ++i) {
    rt.submit([&ran](task_context&) { ++ran; }).wait();
  }
  if (ran != 8) { throw std::runtime_error{"only " + std::to_string(ran) + " of 8 callables ran"}; }
}

}  // namespace

void tbb_hog::occupy(int threads) {
  bool complete = false;
  try {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    complete = on_each_tbb_thread(threads, [&] {
      submit_and_wait(rt);
      // From here on this oneTBB thread is blocked: no worker can run on it.
      ++blocked_;
      blocked_.notify_all();
      release_.wait();
    });
  } catch (std::exception const& error) { std::fprintf(stderr, "tbb_hog: %s\n", error.what()); }
  if (!complete) {
    blocked_ = -1;
    blocked_.notify_all();
  }
}

tbb_hog::tbb_hog(int threads) : host_{[this, threads] { occupy(threads); }} {
  for (int seen = blocked_; seen >= 0 && seen < threads; seen = blocked_) { blocked_.wait(seen); }
  if (blocked_ < 0) {
    host_.join();
    throw std::runtime_error{"tbb_hog: oneTBB did not provide " + std::to_string(threads) +
                             " threads"};
  }
}

tbb_hog::~tbb_hog() {
  release_.open();
  host_.join();
}

}  // namespace flotilla::test
