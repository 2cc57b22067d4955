// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A context, with its settings and all objects that are destroyed with it.

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/context/owned_handles.hpp"
#include "cpu_driver/context/peer_set.hpp"
#include "cpu_driver/stream/context_resources.hpp"
#include "cpu_driver/stream/stream_group.hpp"

namespace flotilla::cpu_driver {

class device;

enum class context_kind : std::uint8_t { owned, primary };

/// Returns a new id. Contexts and green contexts share one sequence of ids.
[[nodiscard]] unsigned long long next_context_id() noexcept;

class context {
 public:
  using handles = handle_table<context, CUcontext, handle_kind::context>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Creates a context that is current on no thread. Throws std::bad_alloc, std::system_error.
  [[nodiscard]] static CUcontext create(device& home, unsigned flags, context_kind kind);
  /// Waits for the context's work, and frees everything that the context owns. Returns false if the
  /// handle names no context. If the context is still current on other threads, most of their calls
  /// return CUDA_ERROR_CONTEXT_IS_DESTROYED afterwards.
  static bool destroy(CUcontext handle);

  context(CUcontext self, device& home, unsigned flags, context_kind kind);

  [[nodiscard]] CUcontext self() const noexcept { return resources_.handle; }
  [[nodiscard]] device& home() noexcept { return home_; }
  [[nodiscard]] context_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] context_resources& resources() noexcept { return resources_; }
  /// The streams of this context, without the streams of its green contexts.
  [[nodiscard]] stream_group& streams() noexcept { return streams_; }
  [[nodiscard]] owned_handles<CUevent>& events() noexcept { return events_; }
  [[nodiscard]] owned_handles<CUmodule>& modules() noexcept { return modules_; }

  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

  /// Increments the usage count. The count of a new context is one.
  void attach() noexcept { usage_.fetch_add(1, std::memory_order_relaxed); }
  /// Decrements the usage count. Returns true if the count became zero. The caller must then
  /// destroy the context.
  [[nodiscard]] bool detach() noexcept {
    return usage_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// Decrements the usage count, unless the count is one. Returns whether the count was
  /// decremented.
  [[nodiscard]] bool detach_but_last() noexcept;

  [[nodiscard]] peer_set& peers() noexcept { return peers_; }

  /// Add or remove a green context that is a part of this primary context. add_part() throws
  /// std::bad_alloc.
  void add_part(CUcontext green);
  void remove_part(CUcontext green) noexcept;
  /// Ends all green contexts of this primary context, and returns their number.
  int end_parts();

  /// Waits for all operations submitted so far to the streams of this context and of its green
  /// contexts.
  void synchronize();
  /// Returns a record that completes when all operations submitted so far to the streams of this
  /// context and of its green contexts have ended.
  [[nodiscard]] std::shared_ptr<event_record> record(bool timed);
  /// Makes all operations that are submitted later to the streams of this context and of its green
  /// contexts wait for `record`.
  void wait_for(std::shared_ptr<event_record> const& record);

 private:
  void tear_down();

  struct all_streams {
    std::vector<std::shared_ptr<void const>> kept;  // keeps the green contexts alive
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
  peer_set peers_;

  std::mutex mutable mutex_;
  std::unordered_set<CUcontext> parts_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
