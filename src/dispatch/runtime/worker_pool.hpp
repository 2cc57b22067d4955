#pragma once
// The oneTBB threads that drive devices.

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include <flotilla/counters.hpp>

#include "base/append_only.hpp"
#include "base/tbb_bridge.hpp"

namespace flotilla::dispatch {

class core;

/// A worker is a body in an oneTBB arena of ours: it drains whatever device has work and a free lease, goes
/// on a while when there is none, and ends. It gives its thread back to oneTBB rather than sleep in it:
/// all arenas of a process share cores - 1 threads. `wake` asks for another one where fewer than `most` are
/// out. Whether oneTBB runs it, and when, nothing depends on: whoever waits drains as well.
///
/// The handshake between `wake` and a worker that ends: `wake` is called after something was announced, and
/// then looks at `active`; the worker takes itself from `active` and then looks for what was announced. All
/// four are seq_cst: one of the two sees the other (tests/unit/dispatch/handshake_model_test.cpp).
class worker_pool {
 public:
  worker_pool(core& owner, int most, std::chrono::microseconds linger);
  ~worker_pool();

  [[nodiscard]] int most() const noexcept { return most_; }
  /// Asks for a worker if one more may be out. Any thread. Cost: a load where all are out.
  void wake() noexcept;
  /// Asks for one where none looks after continuations: see `work`. Call it after the continuation was entered.
  void wake_to_poll() noexcept;
  /// Whether a worker has nothing to do and looks out for work. A hint, of a moment.
  [[nodiscard]] bool looks_out() const noexcept;
  /// No more workers; waits for those that run, not for those that oneTBB has not begun.
  void stop() noexcept;
  [[nodiscard]] std::vector<worker_counters> counters() const;

 private:
  struct shared;
  struct post;
  struct posts;
  struct record;
  static void run(void* context);
  void work(record& mine);
  record& my_record();

  core& owner_;
  int const most_;
  std::chrono::microseconds const linger_;
  std::shared_ptr<shared> shared_;
  std::unique_ptr<base::worker_arena> arena_;
};

}  // namespace flotilla::dispatch
