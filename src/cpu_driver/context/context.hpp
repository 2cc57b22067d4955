#pragma once
// A context: what the API may ask of it, and everything that ends with it.

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cpu_driver/device_heap.hpp"
#include "cpu_driver/limits.hpp"
#include "cpu_driver/print_fifo.hpp"
#include "cpu_driver/stream_group.hpp"

namespace flotilla::cpu_driver {

class device;

enum class context_kind : std::uint8_t { owned, primary };

class context {
 public:
  /// Makes one, current nowhere. Throws std::bad_alloc, std::system_error.
  [[nodiscard]] static CUcontext create(device& home, unsigned flags, context_kind kind);
  /// Waits for the context's work and frees all it owns. False when there is no such context (any
  /// more). Whoever still has it current keeps a handle that answers
  /// CUDA_ERROR_CONTEXT_IS_DESTROYED.
  static bool destroy(CUcontext handle);
  [[nodiscard]] static bool valid_flags(unsigned flags) noexcept;
  /// Contexts and green contexts count together.
  [[nodiscard]] static unsigned long long next_id() noexcept;

  context(CUcontext self, device& home, unsigned flags, context_kind kind);

  [[nodiscard]] CUcontext self() const noexcept { return self_; }
  [[nodiscard]] device& home() noexcept { return home_; }
  [[nodiscard]] context_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_.load(std::memory_order_relaxed); }
  /// All but CU_CTX_MAP_HOST, which stays as the context was created.
  void set_flags(unsigned flags) noexcept;
  /// Usage counts: a context starts with one. True when the last is gone and it is to be destroyed.
  void attach() noexcept { usage_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool detach() noexcept {
    return usage_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// The same, but the last stays: false for that one.
  [[nodiscard]] bool detach_but_last() noexcept;
  /// How this context's waits wait, by its scheduling flag.
  [[nodiscard]] wait_policy patience() const noexcept;

  [[nodiscard]] class limits& limits() noexcept { return limits_; }
  [[nodiscard]] device_heap& heap() noexcept { return heap_; }
  [[nodiscard]] print_fifo& fifo() noexcept { return fifo_; }
  /// Its own streams: without those of green contexts.
  [[nodiscard]] stream_group& streams() noexcept { return streams_; }

  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

  [[nodiscard]] CUevent create_event(unsigned flags);
  /// False when there is none in this context (any more).
  [[nodiscard]] bool destroy_event(CUevent which);
  void add_module(CUmodule which);
  [[nodiscard]] bool destroy_module(CUmodule which);
  /// Peers: whether the set changed.
  [[nodiscard]] bool enable_peer(context const& peer);
  [[nodiscard]] bool disable_peer(context const& peer);

  /// Green contexts that are parts of this one, a primary one. Throws std::bad_alloc.
  void add_part(CUcontext green);
  void remove_part(CUcontext green) noexcept;
  /// Ends them all, and returns how many there were.
  int end_parts();

  /// Waits for all that was submitted before to its streams, and to those of its parts.
  void synchronize();
  /// An occurrence that happens when all of that has ended.
  [[nodiscard]] std::shared_ptr<occurrence> record(bool timed);
  /// What is submitted to any of them from now on starts when `awaited` has happened.
  void wait_for(std::shared_ptr<occurrence> const& awaited);

 private:
  void tear_down();

  struct all_streams {
    std::vector<std::shared_ptr<void const>> kept;  // green contexts, alive while this is
    std::vector<stream_group*> groups;
  };
  [[nodiscard]] all_streams streams_of_all();

  CUcontext const self_;
  device& home_;
  context_kind const kind_;
  unsigned long long const id_;
  std::atomic<unsigned> flags_;
  std::atomic<int> usage_{1};
  class limits limits_;
  device_heap heap_{limits_};
  print_fifo fifo_{limits_};
  stream_group streams_;

  std::mutex mutable mutex_;
  std::unordered_set<CUevent> events_;  // guarded by mutex_, as are those below
  std::unordered_set<CUmodule> modules_;
  std::unordered_set<unsigned long long> peers_;  // by id: a primary context's handle comes again
  std::unordered_set<CUcontext> parts_;
};

}  // namespace flotilla::cpu_driver
