#pragma once
// Threads that begin a piece of work together and finish it together. They live as long as their
// fixture, so that flotilla, oneTBB and the driver create their per-thread state once.

#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace flotilla::bench {

class thread_team {
 public:
  /// @param members  A count, at least 1, which includes the thread that calls `run`.
  explicit thread_team(int members);
  ~thread_team();
  thread_team(thread_team const&) = delete;
  thread_team& operator=(thread_team const&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(failures_.size()); }

  /// Calls `body(i)` for every i in [0, size()) at the same time, each on its own thread; the
  /// caller is 0. Returns when all have returned. Rethrows the exception of one of them.
  void run(std::function<void(int)> const& body);

 private:
  void serve(int member) noexcept;
  void call(int member) noexcept;

  std::vector<std::exception_ptr> failures_;  // each written by its member
  std::barrier<> start_;
  std::barrier<> finish_;
  std::function<void(int)> const* body_ = nullptr;  // written before start_; null ends the threads
  std::vector<std::thread> threads_;
};

}  // namespace flotilla::bench
