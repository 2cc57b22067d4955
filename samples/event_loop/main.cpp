// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A server with one thread: an event loop that waits for a socket, a timer and the devices at the
// same time. Requests arrive while others run. The runtime has no workers, so its tasks make
// progress only in `pump`, and event_fd tells the loop when to pump.
#include <poll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <future>
#include <numeric>
#include <optional>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "event_loop_kernels.hpp"

namespace {

constexpr unsigned requests = 2000;
constexpr unsigned seats = 64;    // requests in flight on the devices
constexpr unsigned unread = 100;  // answers that the client leaves unread, at most

struct answer {
  unsigned number;
  unsigned steps;
};

unsigned steps_of(unsigned long long value) {
  unsigned taken = 0;
  for (; value > 1; ++taken) { value = value % 2 == 0 ? value / 2 : 3 * value + 1; }
  return taken;
}

// Sends numbers and checks the answers. In a real program, clients are other processes.
unsigned run_client(int socket) {
  unsigned wrong = 0;
  unsigned sent = 0;
  for (unsigned received = 0; received < requests; ++received) {
    for (; sent < requests && sent < received + unread; ++sent) {
      unsigned const number = sent + 1;
      wrong += write(socket, &number, sizeof number) != sizeof number;
    }
    answer got{};
    bool const is_whole = read(socket, &got, sizeof got) == sizeof got;
    wrong += !is_whole || got.steps != steps_of(got.number);
  }
  shutdown(socket, SHUT_WR);
  return wrong;
}

}  // namespace

int main() {
  flotilla::runtime rt{{.workers = 0}};
  auto const collatz_steps = rt.load(event_loop_kernels).kernel(event_loop_kernels.collatz_steps);
  flotilla::host_buffer<unsigned> results{rt, seats};  // the kernels write to pinned host memory

  int sockets[2];  // SOCK_SEQPACKET: one read gets one request
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) { return 2; }
  int const timer = timerfd_create(CLOCK_MONOTONIC, 0);
  itimerspec const every_ms{{0, 1'000'000}, {0, 1'000'000}};
  if (timerfd_settime(timer, 0, &every_ms, nullptr) != 0) { return 2; }
  std::future<unsigned> client = std::async(std::launch::async, run_client, sockets[1]);

  std::vector<unsigned> free_seats(seats);
  std::iota(free_seats.begin(), free_seats.end(), 0u);
  unsigned number = 0;      // the request that was read last
  bool is_waiting = false;  // whether this request is not submitted yet
  bool is_open = true;      // whether more requests can arrive
  unsigned next_device = 0;
  unsigned failed = 0;
  std::uint64_t ticks = 0;
  while (is_open || is_waiting || free_seats.size() < seats) {
    // Leave requests in the socket while all seats are taken. So the memory is bounded, and the
    // client has to wait.
    bool const has_room = is_open && !is_waiting && !free_seats.empty();
    pollfd ready[] = {{flotilla::event_fd(rt), POLLIN, 0},
                      {timer, POLLIN, 0},
                      {has_room ? sockets[0] : -1, POLLIN, 0}};  // poll ignores -1
    poll(ready, 3, -1);

    // Pump first, whatever has woken the loop: it is cheap, and it makes room. Continuations run
    // inside this call, on this thread, so they need no locks.
    rt.pump();
    if (std::uint64_t expired = 0;
        ready[1].revents != 0 && read(timer, &expired, sizeof expired) == sizeof expired) {
      ticks += expired;  // a server would look for requests that take too long
    }
    if (ready[2].revents != 0) {
      is_open = is_waiting = read(sockets[0], &number, sizeof number) == sizeof number;
    }
    // Submit last: the new task makes event_fd readable, so the next poll returns at once.
    if (!is_waiting) { continue; }
    unsigned const seat = free_seats.back();
    flotilla::device const& device = rt.devices()[next_device++ % rt.devices().size()];
    std::optional<flotilla::ticket> const task =
        rt.try_submit(collatz_steps.with_shape({1}, {1})(number, results.data() + seat),
                      {.device = device.ordinal});
    if (!task) { continue; }  // the window is full: try again after the next event
    is_waiting = false;
    free_seats.pop_back();
    task->then([&, number, seat](std::exception_ptr why) {
      answer const result{number, results[seat]};
      failed += why != nullptr || write(sockets[0], &result, sizeof result) != sizeof result;
      free_seats.push_back(seat);
    });
  }

  unsigned const wrong = failed + client.get();
  std::printf("%llu ticks of the timer\n", static_cast<unsigned long long>(ticks));
  std::printf("%zu devices, one thread: %u of %u answers wrong\n", rt.devices().size(), wrong,
              requests);
  return wrong == 0 ? 0 : 1;
}
