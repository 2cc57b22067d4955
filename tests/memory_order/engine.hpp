// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scheduler of the explorer. Only explorer.cpp and instrumentation.cpp use it.

#include <pthread.h>

#include <boost/context/detail/fcontext.hpp>
#include <map>
#include <memory>
#include <set>

#include "memory_order/explorer.hpp"
#include "memory_order/memory.hpp"
#include "memory_order/races.hpp"

namespace flotilla::test::memory_order {

class engine {
 public:
  /// An operation that other threads may notice.
  struct operation {
    char kind = ' ';  // as in `site`; for mutexes and condition variables, m
    std::uintptr_t at = 0;
    bool sequential = false;
    pthread_mutex_t* locks = nullptr;  // the thread needs this mutex to go on
    pthread_cond_t* waits = nullptr;   // the thread needs a notification to go on
    bool spins = false;                // another round of a loop that waits
  };

  static engine& instance();
  exploration explore(scenario const& what, weakening const& planted, limits at_most);

  /// Whether the caller is code under test.
  [[nodiscard]] bool is_observed() const { return running_ && !inside_; }
  /// Lets other threads go first. Returns when it is this thread's turn to do the operation.
  void yield(operation next);
  /// Returns the order that an operation has in this exploration.
  int order_at(void const* caller, char kind, bool is_failure, int order);
  void access(void const* at, std::size_t bytes, bool writes);
  void renew(void const* at, std::size_t bytes);
  void fail(std::string const& mistake);
  void note(char kind, std::uintptr_t at, std::uint64_t value, int order);

  memory& shared() { return memory_; }
  [[nodiscard]] int thread() const { return current_; }
  int locate(void const* at, std::uint64_t now);
  /// The state of mutexes: who has them, and what the next thread to lock it sees.
  struct mutex_state {
    int holder = -1;
    view left;
  };
  mutex_state& mutex(pthread_mutex_t* which) { return mutexes_[which]; }
  void lock(pthread_mutex_t* which);
  void unlock(pthread_mutex_t* which);
  void wait(pthread_cond_t* on, pthread_mutex_t* with);
  void notify(pthread_cond_t* on, bool all);
  void spin();
  std::vector<std::uint64_t*> thread_words;

  /// While it exists, instrumented code is not observed: the code of the explorer may contain some.
  class pause {
   public:
    pause() { instance().inside_ = true; }
    ~pause() { instance().inside_ = false; }
    pause(pause const&) = delete;
  };

 private:
  struct fiber {
    boost::context::detail::fcontext_t context = nullptr;
    std::unique_ptr<std::byte[]> stack;
    std::function<void()> const* body = nullptr;
    bool ended = true;
    operation next;
    std::vector<std::uint64_t> words;
  };
  struct choice {
    int chosen;
    int count;
  };
  struct event {
    int thread;
    char kind;
    std::uintptr_t at;
    std::uint64_t value;
    int order;
  };
  static constexpr std::size_t stack_bytes = 1 << 17;
  static constexpr std::size_t max_events = 3000;

  int choose(int count);
  void run_once(scenario const& what);
  void run_threads();
  void resume(int thread);
  bool advance();
  [[nodiscard]] bool can_go_on(int thread);
  int pick(std::vector<int> const& able);
  int pick_within_limit(std::vector<int> const& able);
  static bool are_independent(operation const& one, operation const& other);
  [[nodiscard]] std::string story() const;
  static void fiber_main(boost::context::detail::transfer_t from);

  memory memory_{[this](int count) { return choose(count); }};
  races races_;
  std::array<fiber, max_threads> fibers_{};
  std::map<pthread_mutex_t*, mutex_state> mutexes_;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  std::vector<choice> choices_;
  std::size_t depth_ = 0;
  limits limits_;
  int preemptions_ = 0;
  int last_ = 0;            // the thread that went on last
  unsigned asleep_ = 0;     // the threads whose next operation was explored in an equivalent order
  bool redundant_ = false;  // the rest of the execution is like that of another one
  bool running_ = false, inside_ = false;
  int current_ = 0, threads_ = 0;
  int ending_ = 0;  // the threads without daemons
  weakening const* planted_ = nullptr;
  std::set<site> sites_;
  std::vector<event> events_;
  std::string wrong_, how_;
};

}  // namespace flotilla::test::memory_order
