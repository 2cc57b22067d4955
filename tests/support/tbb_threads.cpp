#include "support/crowd.hpp"

#include <cstdio>
#include <stdexcept>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/tbb_calls.hpp"

namespace flotilla::test {

bool on_each_tbb_thread(int threads, std::function<void()> const& body) {
  std::atomic<int> inside{0};
  std::atomic<bool> all_there{true};
  tbb_parallel_for_in_arena(threads, threads, [&](int) {
    // Nobody leaves before all are inside: so each body has a thread of its own.
    ++inside;
    if (!eventually([&] { return inside.load() >= threads; })) {
      all_there = false;
      return;
    }
    body();
  });
  return all_there;
}

namespace {

void submit_and_wait(runtime& rt) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 8; ++i) {
    rt.submit([&ran](task_context&) { ++ran; }).wait();
  }
  if (ran != 8) { throw std::runtime_error{"a callable of the crowd was lost"}; }
}

}  // namespace

void crowd::occupy(int threads) {
  bool came = false;
  try {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    came = on_each_tbb_thread(threads, [&] {
      submit_and_wait(rt);
      // Counted as it goes to stay: from then on this thread is lost to everybody else.
      ++inside_;
      inside_.notify_all();
      go_home_.pass();
    });
  } catch (std::exception const& error) {
    std::fprintf(stderr, "the crowd broke up: %s\n", error.what());
  }
  if (!came) {
    inside_ = -1;
    inside_.notify_all();
  }
}

crowd::crowd(int threads) : host_{[this, threads] { occupy(threads); }} {
  for (int seen = inside_; seen >= 0 && seen < threads; seen = inside_) { inside_.wait(seen); }
  if (inside_ < 0) {
    host_.join();
    throw std::runtime_error{"oneTBB did not grant the threads for the crowd"};
  }
}

crowd::~crowd() {
  go_home_.open();
  host_.join();
}

}  // namespace flotilla::test
