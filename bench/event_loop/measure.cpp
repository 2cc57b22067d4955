// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <flotilla/flotilla.hpp>

#include "machine.hpp"
#include "processor_time.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

using namespace std::chrono_literals;
using nanoseconds = std::chrono::nanoseconds;

constexpr std::chrono::seconds lost_after{10};

/// A loop answers requests. A request is the time at which it was due. An answer is the time at
/// which the loop has run the request's continuation.
class event_loop {
 public:
  explicit event_loop(int workers)
      : fixture_{{.devices = static_cast<int>(machine().devices.size()), .workers = workers}} {}
  virtual ~event_loop() = default;
  event_loop(event_loop const&) = delete;
  event_loop& operator=(event_loop const&) = delete;

  /// A descriptor that is readable when tasks have ended.
  [[nodiscard]] virtual int descriptor() = 0;
  /// Runs the continuations of ended tasks.
  virtual void end_tasks() = 0;
  /// Submits the task of a request.
  virtual void submit(clock::time_point due) = 0;

  [[nodiscard]] std::vector<double>& samples_us() noexcept { return samples_us_; }

 protected:
  [[nodiscard]] ticket launch_next() {
    auto const device = static_cast<unsigned>(next_++ % fixture_.rt.devices().size());
    return fixture_.rt.submit(fixture_.null_launch, {.device = device_ordinal{device}});
  }
  void answer(clock::time_point due) { samples_us_.push_back(seconds_since(due) * 1e6); }
  [[nodiscard]] runtime& rt() noexcept { return fixture_.rt; }

 private:
  runtime_fixture fixture_;
  std::size_t next_ = 0;
  std::vector<double> samples_us_;
};

/// No workers. The loop polls event_fd and pumps.
class event_fd_loop final : public event_loop {
 public:
  event_fd_loop() : event_loop{0} {}
  int descriptor() override { return event_fd(rt()); }
  void end_tasks() override { rt().pump(); }
  void submit(clock::time_point due) override {
    launch_next().then([this, due](std::exception_ptr) { answer(due); });
  }
};

/// Workers run the continuations. These put the request into a list, and write to an eventfd.
class by_hand_loop final : public event_loop {
 public:
  by_hand_loop() : event_loop{workers_for(static_cast<int>(machine().devices.size()))} {}
  ~by_hand_loop() override {
    rt().wait_idle();
    close(descriptor_);
  }
  int descriptor() override { return descriptor_; }
  void end_tasks() override {
    std::uint64_t count = 0;
    if (eventfd_read(descriptor_, &count) != 0) { return; }
    std::vector<clock::time_point> ended;
    {
      std::lock_guard const lock{mutex_};
      ended.swap(ended_);
    }
    for (clock::time_point const due : ended) { answer(due); }
  }
  void submit(clock::time_point due) override {
    launch_next().then([this, due](std::exception_ptr) {
      {
        std::lock_guard const lock{mutex_};
        ended_.push_back(due);
      }
      eventfd_write(descriptor_, 1);
    });
  }

 private:
  int const descriptor_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex_;
  std::vector<clock::time_point> ended_;
};

/// A pipe into which a thread writes requests at fixed times.
class request_pipe {
 public:
  request_pipe() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) { throw std::runtime_error{"pipe2 failed"}; }
  }
  ~request_pipe() {
    if (sender_.joinable()) { sender_.join(); }
    for (int const end : ends_) { close(end); }
  }
  request_pipe(request_pipe const&) = delete;
  request_pipe& operator=(request_pipe const&) = delete;

  void send(std::size_t count, nanoseconds interval) {
    sender_ = std::thread{[this, count, interval] {
      clock::time_point due = clock::now();
      for (std::size_t i = 0; i < count; ++i) {
        due += interval;
        std::this_thread::sleep_until(due);
        // A pipe that is full is an error, which shows as a lost request.
        [[maybe_unused]] auto const size = ::write(ends_[1], &due, sizeof due);
      }
    }};
  }
  [[nodiscard]] int descriptor() const noexcept { return ends_[0]; }
  [[nodiscard]] bool receive(clock::time_point& due) const {
    return ::read(ends_[0], &due, sizeof due) == sizeof due;
  }

 private:
  int ends_[2]{};
  std::thread sender_;
};

/// Polls once. @return whether anything was ready.
bool run_once(event_loop& loop, request_pipe const& requests, std::chrono::milliseconds limit) {
  pollfd ready[] = {{loop.descriptor(), POLLIN, 0}, {requests.descriptor(), POLLIN, 0}};
  bool const any = poll(ready, 2, static_cast<int>(limit.count())) > 0;
  if (ready[0].revents != 0) { loop.end_tasks(); }
  if (ready[1].revents != 0) {
    for (clock::time_point due; requests.receive(due);) { loop.submit(due); }
  }
  return any;
}

template <class Number>
Number median_of(std::vector<Number> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The figures of one loop, by round.
struct figures {
  std::size_t answered = 0;
  std::vector<double> p50_us, p99_us, share_busy, share_idle;
};

template <class Loop>
void run_round(durations const& durations, figures& into) {
  Loop loop;
  auto const count = static_cast<std::size_t>(durations.busy / durations.interval);
  std::vector<double>& samples = loop.samples_us();
  samples.reserve(count);
  request_pipe requests;
  double const before = processor_seconds();
  auto const start = clock::now();
  requests.send(count, durations.interval);
  while (samples.size() < count) {
    if (!run_once(loop, requests, lost_after)) { throw std::runtime_error{"a request was lost"}; }
  }
  into.share_busy.push_back((processor_seconds() - before) / seconds_since(start));
  into.answered += count;
  std::sort(samples.begin(), samples.end());
  into.p50_us.push_back(samples[count / 2]);
  into.p99_us.push_back(samples[count * 99 / 100]);

  while (run_once(loop, requests, 10ms)) {}
  settle(durations.settling, durations.max_settling);
  into.share_idle.push_back(
      share_while(durations.idle, [&] { (void)run_once(loop, requests, durations.idle); }));
}

row row_of(std::string who, figures const& all) {
  return {std::move(who),
          all.answered,
          median_of(all.p50_us),
          median_of(all.p99_us),
          median_of(all.share_busy),
          median_of(all.share_idle)};
}

}  // namespace

durations durations::quick() {
  return {.rounds = 1, .busy = 50ms, .settling = 200ms, .idle = 170ms};
}

std::vector<row> measure(durations const& durations) {
  figures with_event_fd;
  figures by_hand;
  for (int i = 0; i < durations.rounds; ++i) {
    run_round<event_fd_loop>(durations, with_event_fd);
    run_round<by_hand_loop>(durations, by_hand);
  }
  return {row_of("event_fd", with_event_fd), row_of("by_hand", by_hand)};
}

}  // namespace flotilla::bench
