#pragma once
// One launch of an executable graph: its own copy of the steps, run one after the other on the
// device thread of the stream that it was launched in. A step that waits lets the stream step aside
// as a waiting operation of its own would. Recycled by its executable graph.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {

class device;

class graph_run {
 public:
  explicit graph_run(std::size_t steps) : steps_(steps), kinds_(steps), versions_(steps) {}
  graph_run(graph_run const&) = delete;
  graph_run& operator=(graph_run const&) = delete;

  // The device thread's; between launch and end() nobody else touches a run.
  /// Whether it can start, or go on after a wait. Where not, the device is nudged when it can, or
  /// has to ask again (polls()).
  [[nodiscard]] bool may_go_on() noexcept;
  /// Whether it waits for a value in memory, which nobody announces.
  [[nodiscard]] bool polls() const noexcept;
  /// Runs steps up to the end or to the next wait. Anything but CUDA_SUCCESS is a sticky fault.
  [[nodiscard]] CUresult go_on(context& owner, device& home) noexcept;
  [[nodiscard]] bool finished() const noexcept { return next_ == steps_.size(); }
  /// The last that is done with a run, whether it has finished or never will: what others wait for
  /// is released. It may be launched again, or be gone, from then on.
  void end() noexcept;

 private:
  friend class executable_graph;
  enum class step_kind : std::uint8_t { skip, kernel, other };  // skip: disabled, or empty
  struct alignas(64) step {
    node_work work;
  };

  /// False: the step waits.
  [[nodiscard]] bool perform(node_work& todo) noexcept;
  [[nodiscard]] CUresult perform(kernel_work& todo, context& owner, device& home) noexcept;
  [[nodiscard]] bool go_through(memory_ops_work const& todo) noexcept;

  std::vector<step> steps_;
  std::vector<step_kind> kinds_;         // of the steps, close together
  std::vector<std::uint64_t> versions_;  // of the executable graph's steps when they were copied
  std::uint64_t version_ = 0;
  std::uint64_t number_ = 0;  // of the launch: 1 is the first
  std::shared_ptr<executable_graph> of_;  // while in flight
  std::vector<driver_state::context_table::ref> others_;  // contexts beside the stream's
  graph_run* next_free_ = nullptr;

  std::size_t next_ = 0;       // step
  std::size_t operation_ = 0;  // of a step of several memory operations
};

}  // namespace flotilla::cpu_driver
