#pragma once
// A context: what the API may ask of it, and everything that ends with it.

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/context/owned_handles.hpp"
#include "cpu_driver/stream/context_resources.hpp"
#include "cpu_driver/stream/stream_group.hpp"

namespace flotilla::cpu_driver {

class device;

enum class context_kind : std::uint8_t { owned, primary };

/// A new id. Contexts and green contexts share one sequence.
[[nodiscard]] unsigned long long next_context_id() noexcept;

class context {
 public:
  using handles = handle_table<context, CUcontext, handle_kind::context>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Makes a context that is current on no thread. Throws std::bad_alloc, std::system_error.
  [[nodiscard]] static CUcontext create(device& home, unsigned flags, context_kind kind);
  /// Waits for the context's work and frees everything it owns. False if there is no such context
  /// (any more). A thread that still has it current keeps a handle that answers
  /// CUDA_ERROR_CONTEXT_IS_DESTROYED.
  static bool destroy(CUcontext handle);

  context(CUcontext self, device& home, unsigned flags, context_kind kind);

  [[nodiscard]] CUcontext self() const noexcept { return resources_.handle; }
  [[nodiscard]] device& home() noexcept { return home_; }
  [[nodiscard]] context_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] context_resources& resources() noexcept { return resources_; }
  /// Its own streams, without those of its green contexts.
  [[nodiscard]] stream_group& streams() noexcept { return streams_; }
  [[nodiscard]] owned_handles<CUevent>& events() noexcept { return events_; }
  [[nodiscard]] owned_handles<CUmodule>& modules() noexcept { return modules_; }

  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

  /// The usage count, which is one for a new context.
  void attach() noexcept { usage_.fetch_add(1, std::memory_order_relaxed); }
  /// True if that was the last use, after which the caller destroys the context.
  [[nodiscard]] bool detach() noexcept {
    return usage_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// The same, except that the last use stays: false then.
  [[nodiscard]] bool detach_but_last() noexcept;

  /// Enables or disables access to the memory of `peer`. False if that changed nothing.
  [[nodiscard]] bool enable_peer(context const& peer);
  [[nodiscard]] bool disable_peer(context const& peer);

  /// Green contexts that are parts of this primary context. Throws std::bad_alloc.
  void add_part(CUcontext green);
  void remove_part(CUcontext green) noexcept;
  /// Ends all parts, and returns how many there were.
  int end_parts();

  /// Waits for everything submitted before to its streams and to those of its parts.
  void synchronize();
  /// A record that completes when all of that has ended.
  [[nodiscard]] std::shared_ptr<event_record> record(bool timed);
  /// Everything submitted to any of these streams from now on waits for `record`.
  void wait_for(std::shared_ptr<event_record> const& record);

 private:
  void tear_down();

  struct all_streams {
    std::vector<std::shared_ptr<void const>> kept;  // green contexts, alive as long as this
    std::vector<stream_group*> groups;
  };
  [[nodiscard]] all_streams streams_of_all();

  device& home_;
  context_kind const kind_;
  unsigned long long const id_;
  std::atomic<int> usage_{1};
  context_resources resources_;
  stream_group streams_;
  owned_handles<CUevent> events_;
  owned_handles<CUmodule> modules_;

  std::mutex mutable mutex_;
  std::unordered_set<unsigned long long> peers_;  // ids: handles of primary contexts are reused
  std::unordered_set<CUcontext> parts_;           // both guarded by mutex_
};

}  // namespace flotilla::cpu_driver
