// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A rank of testing::loop in a test.

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/testing/loop_transport.hpp>

namespace flotilla::test {

inline constexpr int any = transport::any_source;

/// Calls the functions of a transport, which must succeed.
class loop_rank {
 public:
  loop_rank(testing::loop& all, int rank) : via{all.rank(rank)} {}
  loop_rank(loop_rank const&) = delete;
  loop_rank& operator=(loop_rank const&) = delete;
  ~loop_rank() { close(); }

  int send(std::string_view data, int to, int tag = 0) const {
    int request = -1;
    EXPECT_EQ(via.isend(via.self, data.data(), data.size(), to, tag, &request), 0);
    return request;
  }
  int receive(std::string& data, int from, int tag = 0) const {
    int request = -1;
    EXPECT_EQ(via.irecv(via.self, data.data(), data.size(), from, tag, &request), 0);
    return request;
  }
  /// Returns what `testsome` returns.
  std::vector<transport_event> look(int capacity = 100) const {
    std::vector<transport_event> events(static_cast<std::size_t>(capacity));
    int count = -1;
    EXPECT_EQ(via.testsome(via.self, events.data(), capacity, &count), 0);
    EXPECT_TRUE(count >= 0 && count <= capacity) << count;
    events.resize(static_cast<std::size_t>(count));
    return events;
  }
  /// The only event of a look. Its request is -1 if there is none.
  transport_event only() const {
    std::vector<transport_event> const events = look();
    EXPECT_EQ(events.size(), 1u);
    return events.size() == 1 ? events[0] : transport_event{.request = -1};
  }
  std::string text_of(int status) const {
    char text[200];
    via.describe(via.self, status, text, sizeof text);
    return text;
  }
  void close() {
    if (via.self != nullptr) { via.close(via.self); }
    via.self = nullptr;
  }

  transport via;
};

/// All ranks of a loop, for tests in which one thread calls them.
class loop_ranks : public std::deque<loop_rank> {
 public:
  loop_ranks(testing::loop& all, int count) {
    for (int rank = 0; rank < count; ++rank) { emplace_back(all, rank); }
  }
  [[nodiscard]] loop_rank& of(int rank) { return at(static_cast<std::size_t>(rank)); }
};

/// Returns a text of `bytes` characters that differ from each other.
inline std::string text_of_size(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) { text[i] = static_cast<char>(i * 31 + i / 256); }
  return text;
}

}  // namespace flotilla::test
