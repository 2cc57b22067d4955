#pragma once
// The producers of a row: threads that start together and are waited for together. They live as
// long as their rig, so that what flotilla, oneTBB and the driver keep for a thread is made once.

#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace flotilla::bench {

class crew {
 public:
  /// @param members  A count, at least 1. The thread that calls `run` is one of them.
  explicit crew(int members);
  ~crew();
  crew(crew const&) = delete;
  crew& operator=(crew const&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(failures_.size()); }

  /// Calls `body(i)` for every i in [0, size()), each on a thread of its own, all at once; the
  /// caller has 0. Returns when all have returned. Throws what one of them threw.
  void run(std::function<void(int)> const& body);

 private:
  void serve(int member) noexcept;
  void call(int member) noexcept;

  std::vector<std::exception_ptr> failures_;  // each written by its member
  std::barrier<> start_;
  std::barrier<> finish_;
  std::function<void(int)> const* body_ = nullptr;  // written before start_; null: the end
  std::vector<std::thread> threads_;
};

}  // namespace flotilla::bench
