#pragma once
// The records from which a device updates the nodes of a recorded graph.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/node_record.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/registered_slabs.hpp"

namespace flotilla::dispatch {

/// Several replays may be in flight, so each replay with changes has a list of records of its own.
/// The graph's entry node (builtin_functions::update) copies the records into the nodes. A list is
/// reused after its replay is done, so a steady state allocates nothing.
///
/// Only the holder of the device's lease, with the context current.
class recorded_updates {
 public:
  recorded_updates(context::context_handle const& context, registered_slabs& memory,
                   completion_page const& page, CUfunction update, std::size_t nodes);
  /// Calls nothing and keeps the memory. Call `give_back` before, when no replay is in flight.
  ~recorded_updates() = default;
  recorded_updates(recorded_updates const&) = delete;
  recorded_updates& operator=(recorded_updates const&) = delete;
  void give_back() noexcept;

  /// @return the entry node; make every node without a predecessor depend on it. @throws
  /// driver_error
  [[nodiscard]] CUgraphNode add_entry(CUgraph graph);
  /// Makes kernel node `i` updatable, before the graph is instantiated. @throws driver_error
  void attach(std::size_t i, CUgraphNode node, std::uint32_t argument_bytes);
  [[nodiscard]] bool has(std::size_t i) const noexcept { return nodes_[i] != 0; }

  /// Begins the changes of the next replay. @param max_records  The most records that it needs.
  void begin(std::size_t max_records) noexcept {
    pending_ = 0;
    max_records_ = max_records;
  }
  /// Node `i` holds this grid and these arguments from the next replay on. Call it once for each
  /// node, with no more bytes than at `attach`. @throws driver_error, std::bad_alloc
  void put(std::size_t i, std::array<std::uint32_t, 3> const& grid, std::byte const* arguments,
           std::uint32_t bytes);
  /// Makes the entry node copy the records that were put. If the replay is not launched afterwards,
  /// put the same records again for the next one.
  [[nodiscard]] CUresult set_entry(CUgraphExec exec) noexcept;
  /// The replay is launched; `number` of that lane shows its end.
  void launched(unsigned lane, std::uint64_t number) noexcept;

 private:
  static constexpr std::uint32_t block_threads = 64;
  struct list {
    registered_slabs::piece piece;
    unsigned lane = 0;
    std::uint64_t number = 0;  // of its replay
  };
  void choose();
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS entry_for(std::uint32_t count) noexcept;

  context::context_handle const& context_;
  registered_slabs& memory_;
  completion_page const& page_;
  CUfunction update_;
  CUgraphNode entry_ = nullptr;
  std::vector<std::uint64_t> nodes_;  // by node: its device handle; 0: it cannot be updated
  std::uint32_t stride_ = 0;
  std::vector<list> lists_;
  std::size_t max_records_ = 0;    // of the next replay
  std::size_t chosen_ = 0;         // the list that the next replay uses
  std::uint32_t pending_ = 0;      // records
  std::uint32_t entry_holds_ = 0;  // records
  CUdeviceptr address_ = 0;        // these two are the entry node's parameters
  std::uint32_t count_ = 0;
  std::array<void*, 3> parameters_;
};

}  // namespace flotilla::dispatch
