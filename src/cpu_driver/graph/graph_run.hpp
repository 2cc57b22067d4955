// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run is one launch of an executable graph, with its own copy of the steps. The steps run one
// after the other on the device thread of the stream that the graph was launched in. While a step
// waits, the device thread runs other streams.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/graph/node_params.hpp"
#include "cpu_driver/stream/stream_task.hpp"

namespace flotilla::cpu_driver {

class graph_run_pool;

/// One step of an executable graph.
struct graph_step {
  bool enabled = true;
  std::vector<std::uint32_t> after;  // positions of the steps that this step depends on, ascending
  node_work work;
};

class graph_run final : public stream_task {
 public:
  graph_run(graph_run_pool& pool, std::size_t steps)
      : pool_(pool), steps_(steps), kinds_(steps), versions_(steps) {}
  graph_run(graph_run const&) = delete;
  graph_run& operator=(graph_run const&) = delete;

  // The launching thread calls the following functions before the run is in a stream.

  /// Copies the steps whose element of `versions` has changed since this run copied them. Copies
  /// nothing if `version` has not changed. So the caller must change `version` whenever it changes
  /// an element of `versions`. If copy() throws std::bad_alloc, a later call copies the remaining
  /// steps.
  void copy(std::span<graph_step const> steps, std::span<std::uint64_t const> versions,
            std::uint64_t version);
  /// Takes a reference to each of `contexts` except the stream's context, and creates an event
  /// record for each step that records an event. Throws std::bad_alloc.
  [[nodiscard]] CUresult prepare(std::span<CUcontext const> contexts,
                                 context_resources const& stream_context);
  /// Releases the references that prepare() took.
  void discard() noexcept { others_.clear(); }
  /// Prepares the record steps and wait steps, in order. A record step publishes its record as the
  /// latest one of the event. A wait step takes the latest record of the event, which an earlier
  /// step may have published. Keeps `owner` alive until end().
  void begin(std::uint64_t number, std::shared_ptr<void const> owner) noexcept;

  // After begin(), the device thread calls the following functions.

  [[nodiscard]] bool may_continue() noexcept override;
  [[nodiscard]] bool needs_polling() const noexcept override;
  [[nodiscard]] CUresult run_steps(launch_site const& site) noexcept override;
  [[nodiscard]] bool finished() const noexcept override { return next_ == steps_.size(); }
  /// Returns the run to the pool, which may reuse or destroy it.
  void end() noexcept override;

 private:
  friend class graph_run_pool;
  enum class step_kind : std::uint8_t {
    skip,
    kernel,
    other
  };  // skip: a disabled step or an empty node
  struct alignas(64) step {
    node_work work;
  };

  /// Returns false if the step has to wait.
  [[nodiscard]] bool run_step(node_work& work, launch_site const& site) noexcept;
  [[nodiscard]] CUresult run_kernel(kernel_work& kernel, launch_site const& site) noexcept;
  [[nodiscard]] bool run_memory_ops(memory_ops_work const& work, int device) noexcept;

  graph_run_pool& pool_;
  std::vector<step> steps_;
  std::vector<step_kind> kinds_;         // kind of each step; compact, for fast access
  std::vector<std::uint64_t> versions_;  // version of each step when it was copied
  std::uint64_t version_ = 0;
  std::uint64_t number_ = 0;           // number of the launch; the first is 1
  std::shared_ptr<void const> owner_;  // the executable graph, while the run is in a stream
  std::vector<context::ref> others_;   // contexts of the kernels, except the stream's context
  graph_run* next_free_ = nullptr;     // next run in a free list of the pool

  std::size_t next_ = 0;       // position of the next step
  std::size_t operation_ = 0;  // next operation within a step of several memory operations
};

}  // namespace flotilla::cpu_driver
