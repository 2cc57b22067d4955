#pragma once
// What a device writes into the nodes of a recorded graph, replay by replay.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/lane.hpp"
#include "dispatch/mapped_slabs.hpp"
#include "dispatch/node_record.hpp"

namespace flotilla::dispatch {

/// Each replay with changes has a list of records of its own, since several may be under way; the graph's root, own_functions::updater,
/// carries it over. Lists are used again once their replay is done, so a steady state allocates nothing.
///
/// Only the holder of the device's lease, with the context current.
class recorded_updates {
 public:
  recorded_updates(context::floating_context const& context, mapped_slabs& memory, completion_page const& page,
                   CUfunction updater, std::size_t nodes);
  /// Calls nothing, and keeps the memory: `give_back` before, when no replay is under way.
  ~recorded_updates() = default;
  recorded_updates(recorded_updates const&) = delete;
  recorded_updates& operator=(recorded_updates const&) = delete;
  void give_back() noexcept;

  /// @return the root, which all that was to be without one goes behind. @throws driver_error
  [[nodiscard]] CUgraphNode add_root(CUgraph graph);
  /// Before the graph is instantiated: node `i`, a kernel, can be updated. @throws driver_error
  void attach(std::size_t i, CUgraphNode node, std::uint32_t argument_bytes);
  [[nodiscard]] bool has(std::size_t i) const noexcept { return nodes_[i] != 0; }

  /// For the next replay: nothing yet, and at most so many.
  void begin(std::size_t most) noexcept {
    pending_ = 0;
    most_ = most;
  }
  /// Node `i`, once each and with no more bytes than it was attached with, holds these from the next replay on. @throws driver_error, std::bad_alloc
  void put(std::size_t i, std::array<std::uint32_t, 3> const& grid, std::byte const* arguments, std::uint32_t bytes);
  /// Has the root carry over what was put. Where the replay is not launched after this, the same is put again for the next.
  [[nodiscard]] CUresult set_root(CUgraphExec exec) noexcept;
  /// It is launched: its number is that of this lane.
  void launched(unsigned lane, std::uint64_t number) noexcept;

 private:
  static constexpr std::uint32_t block_threads = 64;
  struct list {
    mapped_slabs::piece piece;
    unsigned lane = 0;
    std::uint64_t number = 0;  // of its replay
  };
  void choose();
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS root_for(std::uint32_t count) noexcept;

  context::floating_context const& context_;
  mapped_slabs& memory_;
  completion_page const& page_;
  CUfunction updater_;
  CUgraphNode root_ = nullptr;
  std::vector<std::uint64_t> nodes_;  // 0: cannot be updated
  std::uint32_t stride_ = 0;
  std::vector<list> lists_;
  std::size_t most_ = 0;          // records of the next replay
  std::size_t chosen_ = 0;        // whose records are pending
  std::uint32_t pending_ = 0;     // records
  std::uint32_t root_holds_ = 0;  // records
  CUdeviceptr address_ = 0;       // the root's parameters
  std::uint32_t count_ = 0;
  std::array<void*, 3> parameters_;
};

}  // namespace flotilla::dispatch
