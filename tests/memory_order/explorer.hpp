// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a few threads in every possible way that the memory model of C++ permits.
//
// The code under test is the code of the library, unchanged. It is compiled with -fsanitize=thread,
// so the compiler calls a function for each access to memory, with the memory order of each atomic
// operation. This program has functions of its own with these names (instrumentation.cpp) instead
// of the library of ThreadSanitizer. It also replaces the functions of mutexes and condition
// variables. The threads are fibers of one thread of the operating system. Before each operation
// that other threads may notice, the explorer chooses the thread that goes on. `memory` chooses
// what loads read and where stores go. The explorer repeats the execution until every choice was
// made (depth first). It skips orders of independent operations that lead to the same result (sleep
// sets). A loop that waits with std::this_thread::yield must change nothing: the explorer does not
// count an execution with another round of it, because the round that ends the loop would read the
// same in an execution without the others. The thread goes on when no other thread can.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace flotilla::test::memory_order {

/// What threads do in one execution.
class execution {
 public:
  void thread(std::function<void()> body) {
    threads_.insert(threads_.begin() + static_cast<std::ptrdiff_t>(ending_++), std::move(body));
  }
  /// Adds a thread that may wait for ever. The execution ends when all other threads have ended.
  void daemon(std::function<void()> body) { threads_.push_back(std::move(body)); }
  /// Adds what is checked after all threads have ended.
  void at_end(std::function<void()> check) { checks_.push_back(std::move(check)); }
  [[nodiscard]] std::vector<std::function<void()>> const& threads() const { return threads_; }
  [[nodiscard]] std::size_t ending() const { return ending_; }  // the rest are daemons
  [[nodiscard]] std::vector<std::function<void()>> const& checks() const { return checks_; }

 private:
  std::size_t ending_ = 0;
  std::vector<std::function<void()>> threads_, checks_;
};

/// Sets up an execution: makes the objects and adds threads. It is called once per execution, so it
/// must always do the same. The objects must live in what the functions capture.
using scenario = std::function<void(execution&)>;

/// Records a mistake unless `holds`.
void check(bool holds, char const* mistake);

/// The place of an atomic operation in the program. An operation that exchanges conditionally has
/// two orders; the second is that of the failure.
struct site {
  void const* caller = nullptr;
  bool is_failure = false;
  char kind = ' ';  // load, store, exchange or fence: l, s, x or f
  int order = 0;
  auto operator<=>(site const&) const = default;
};
/// A weaker order for the operations at a few places.
struct weakening {
  std::vector<site> sites;
  int order = 0;
};

struct limits {
  std::size_t executions = 200'000;
  // How often a thread that could go on has to wait for another. Most mistakes need two such
  // switches. Negative: no limit.
  int preemptions = -1;
};

struct exploration {
  std::string wrong;  // the first mistake, or empty
  std::string how;    // the operations of the execution with the mistake
  std::size_t executions = 0;
  bool complete = true;     // whether there was time for all executions
  std::vector<site> sites;  // the operations that are not relaxed
  friend std::ostream& operator<<(std::ostream& out, exploration const& found) {
    return out << found.executions << " executions" << (found.complete ? "; " : " (not all); ")
               << found.wrong << '\n'
               << found.how;
  }
};

/// Explores all executions, up to the first mistake.
/// @param planted  Weakens the orders of some operations.
[[nodiscard]] exploration explore(scenario const& what, weakening const& planted = {},
                                  limits at_most = {});

/// Makes a thread-local word have a value of its own in each fiber. It begins with 0.
void add_thread_word(std::uint64_t& word);

}  // namespace flotilla::test::memory_order
