#pragma once
// The streams that belong together: a context's, or a green context's. Their NULL stream, the order
// that it imposes on them, and what concerns all of them: waiting for them, ending them.

#include <cuda.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cpu_driver/event.hpp"
#include "cpu_driver/latch.hpp"
#include "cpu_driver/multiprocessors.hpp"
#include "cpu_driver/order_group.hpp"
#include "cpu_driver/stream.hpp"

namespace flotilla::cpu_driver {

class context;
class green_context;

class stream_group {
 public:
  /// Of `owner`, which outlives it; of `part`, where that is not null, whose multiprocessors its
  /// kernels keep to.
  stream_group(context& owner, green_context* part, multiprocessor_set const& allowed) noexcept
      : owner_(owner),
        part_(part),
        allowed_(allowed),
        legacy_(nullptr, *this, stream_kind::legacy, stream::least_priority) {}

  [[nodiscard]] context& owner() const noexcept { return owner_; }
  [[nodiscard]] green_context* part() const noexcept { return part_; }  // null: the whole device
  [[nodiscard]] multiprocessor_set const& allowed() const noexcept { return allowed_; }
  [[nodiscard]] stream& legacy() noexcept { return legacy_; }
  [[nodiscard]] order_group& order() noexcept { return order_; }  // the device thread's
  [[nodiscard]] latch& closing() noexcept { return closing_; }    // counts streams not yet ended

  /// Throws std::bad_alloc.
  [[nodiscard]] CUstream create(stream_kind kind, int priority);
  /// False when there is none of that handle (any more).
  [[nodiscard]] bool destroy(CUstream which);

  /// Waits for all that was submitted before to any stream of these groups.
  static void synchronize(std::vector<stream_group*> const& groups, wait_policy patience);
  /// An occurrence that happens when all that was submitted before to any of them has ended.
  [[nodiscard]] static std::shared_ptr<occurrence> record(std::vector<stream_group*> const& groups,
                                                          bool timed);
  /// What is submitted from now on, to whichever stream, starts when `awaited` has happened.
  void wait_for(std::shared_ptr<occurrence> const& awaited);

  /// Whether the NULL stream, and what it waits for, has nothing to do.
  [[nodiscard]] bool legacy_idle();

  /// Ends all streams behind their work, and waits for that. Returns those that somebody had left.
  std::vector<CUstream> tear_down(wait_policy patience);

 private:
  [[nodiscard]] std::vector<CUstream> handles() const;

  context& owner_;
  green_context* const part_;
  multiprocessor_set const& allowed_;
  order_group order_;
  latch closing_;
  stream legacy_;

  std::mutex mutable mutex_;
  std::unordered_set<CUstream> streams_;              // guarded by mutex_, as is
  std::vector<std::shared_ptr<occurrence>> awaited_;  // what streams to come have to wait for
};

}  // namespace flotilla::cpu_driver
