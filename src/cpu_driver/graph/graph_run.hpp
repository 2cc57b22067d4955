#pragma once
// One launch of an executable graph: its own copy of the steps. They run one after the other on the
// device thread of the stream that the graph was launched in. If a step waits, the stream steps
// aside, as it does for a waiting operation.

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
  std::vector<std::uint32_t> after;  // steps, ascending
  node_work work;
};

class graph_run final : public stream_task {
 public:
  graph_run(graph_run_pool& pool, std::size_t steps)
      : pool_(pool), steps_(steps), kinds_(steps), versions_(steps) {}
  graph_run(graph_run const&) = delete;
  graph_run& operator=(graph_run const&) = delete;

  // The launching thread's, before the run is in a stream:
  /// Copies the steps that have another version than the copy. `version` changes with any of
  /// `versions`. Throws std::bad_alloc; the copy can be continued later then.
  void copy(std::span<graph_step const> steps, std::span<std::uint64_t const> versions,
            std::uint64_t version);
  /// Finds the other contexts that the steps use, and makes the records of the steps that record
  /// events. Throws std::bad_alloc.
  [[nodiscard]] CUresult prepare(std::span<CUcontext const> contexts,
                                 context_resources const& stream_context);
  /// Takes prepare() back.
  void discard() noexcept { others_.clear(); }
  /// Makes the records known to their events, and finds the records that steps wait for, in the
  /// order of the steps, so that a wait finds the record of an earlier step. `owner` lives until
  /// end().
  void begin(std::uint64_t number, std::shared_ptr<void const> owner) noexcept;

  // The device thread's, until end():
  [[nodiscard]] bool may_continue() noexcept override;
  [[nodiscard]] bool needs_polling() const noexcept override;
  [[nodiscard]] CUresult run_steps(launch_site const& site) noexcept override;
  [[nodiscard]] bool finished() const noexcept override { return next_ == steps_.size(); }
  /// Afterwards the run may be launched again, or be destroyed.
  void end() noexcept override;

 private:
  friend class graph_run_pool;
  enum class step_kind : std::uint8_t { skip, kernel, other };  // skip: disabled, or empty
  struct alignas(64) step {
    node_work work;
  };

  /// False if the step has to wait.
  [[nodiscard]] bool run_step(node_work& work) noexcept;
  [[nodiscard]] CUresult run_kernel(kernel_work& kernel, launch_site const& site) noexcept;
  [[nodiscard]] bool run_memory_ops(memory_ops_work const& work) noexcept;

  graph_run_pool& pool_;
  std::vector<step> steps_;
  std::vector<step_kind> kinds_;         // of the steps, close together
  std::vector<std::uint64_t> versions_;  // of the executable graph's steps when they were copied
  std::uint64_t version_ = 0;
  std::uint64_t number_ = 0;           // of the launch: 1 is the first
  std::shared_ptr<void const> owner_;  // the executable graph, while in a stream
  std::vector<context::ref> others_;   // contexts of steps, except the stream's
  graph_run* next_free_ = nullptr;     // the pool's

  std::size_t next_ = 0;       // step
  std::size_t operation_ = 0;  // of a step of several memory operations
};

}  // namespace flotilla::cpu_driver
