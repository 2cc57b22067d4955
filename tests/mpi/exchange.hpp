// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of the transport over MPI share.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/mpi.hpp>

inline int world_rank = 0;

/// Ends all ranks if `right` is false.
inline void check(bool right, char const* text, int line) {
  if (right) { return; }
  std::printf("rank %d: line %d: not true: %s\n", world_rank, line, text);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

/// A transport, and the events that it has returned and no test has waited for yet. Tests use
/// handles, because the transport uses the numbers of requests again.
class exchange {
 public:
  explicit exchange(int capacity = 8)
      : table{flotilla::mpi(MPI_COMM_WORLD)}, events_(static_cast<std::size_t>(capacity)) {}
  ~exchange() { table.close(table.self); }
  exchange(exchange const&) = delete;
  exchange& operator=(exchange const&) = delete;

  int send(std::vector<char> const& data, int to, int tag) {
    int request = -1;
    CHECK(table.isend(table.self, data.data(), data.size(), to, tag, &request) == 0);
    return opened(request);
  }
  int receive(std::vector<char>& data, int from, int tag) {
    int request = -1;
    CHECK(table.irecv(table.self, data.data(), data.size(), from, tag, &request) == 0);
    return opened(request);
  }
  /// Returns the number of an open request, or -1.
  int request_of(int handle) {
    auto const at = std::find_if(open_.begin(), open_.end(),
                                 [&](auto const& each) { return each.second == handle; });
    return at == open_.end() ? -1 : at->first;
  }
  void poll() {
    int count = -1;
    int const capacity = static_cast<int>(events_.size());
    CHECK(table.testsome(table.self, events_.data(), capacity, &count) == 0);
    CHECK(count >= 0 && count <= capacity);
    for (int i = 0; i < count; ++i) {
      auto const& event = events_[static_cast<std::size_t>(i)];
      auto const at = open_.find(event.request);
      CHECK(at != open_.end());
      ended_[at->second] = event;
      open_.erase(at);
    }
    if (count == 0) { std::this_thread::yield(); }
  }
  /// Waits for the event of a request.
  flotilla::transport_event wait(int handle) {
    while (!ended_.contains(handle)) { poll(); }
    return ended_.extract(handle).mapped();
  }
  /// Waits for a request that must succeed.
  flotilla::transport_event finish(int handle) {
    auto const event = wait(handle);
    CHECK(event.status == 0);
    return event;
  }
  std::string describe(int status) {
    char text[1000];
    table.describe(table.self, status, text, sizeof text);
    return text;
  }
  [[nodiscard]] int next() const { return (table.rank + 1) % table.ranks; }
  [[nodiscard]] int previous() const { return (table.rank + table.ranks - 1) % table.ranks; }

  flotilla::transport const table;

 private:
  int opened(int request) {
    CHECK(request >= 0 && !open_.contains(request));  // a number is free only after its event
    open_[request] = ++handles_;
    return handles_;
  }

  std::vector<flotilla::transport_event> events_;
  std::map<int, int> open_;  // handles by numbers
  std::map<int, flotilla::transport_event> ended_;
  int handles_ = 0;
};
