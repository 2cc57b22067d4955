// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records with which a device updates the nodes of a recorded graph.

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

/// The host writes a record for each changed node, and the graph's entry node
/// (builtin_functions::update) copies the records into the nodes. Several replays may be in flight,
/// so each replay with changes has its own list of records. A list is reused after its replay has
/// ended, so nothing is allocated in a steady state.
///
/// Threads: only the holder of the device's lease, with the context current.
class recorded_updates {
 public:
  recorded_updates(context::context_handle const& context, registered_slabs& memory,
                   completion_page const& page, CUfunction update, std::size_t nodes);
  /// Makes no driver call and does not return the memory. Call `give_back` before the destructor,
  /// when no replay is in flight.
  ~recorded_updates() = default;
  recorded_updates(recorded_updates const&) = delete;
  recorded_updates& operator=(recorded_updates const&) = delete;
  void give_back() noexcept;

  /// Adds the entry node. The caller must make every node without a predecessor depend on the entry
  /// node.
  /// @return the entry node.
  /// @throws driver_error
  [[nodiscard]] CUgraphNode add_entry(CUgraph graph);
  /// Makes kernel node `i` updatable by the device. Call it before the graph is instantiated.
  /// @throws driver_error
  void attach(std::size_t i, CUgraphNode node, std::uint32_t argument_bytes);
  [[nodiscard]] bool has(std::size_t i) const noexcept { return nodes_[i] != 0; }

  /// Begins the changes of the next replay.
  /// @param max_records  The maximum number of records.
  void begin(std::size_t max_records) noexcept {
    pending_ = 0;
    max_records_ = max_records;
  }
  /// Adds a record: node `i` gets this grid and these arguments from the next replay on. Call it at
  /// most once per node and replay. `bytes` must not exceed the value passed to `attach`.
  /// @throws driver_error, std::bad_alloc
  void put(std::size_t i, std::array<std::uint32_t, 3> const& grid, std::byte const* arguments,
           std::uint32_t bytes);
  /// Makes the entry node copy the records of this replay. If the replay is not launched, the
  /// caller must put the same records again for the next replay.
  [[nodiscard]] CUresult set_entry(CUgraphExec exec) noexcept;
  /// Records that the replay was launched and that it writes `number` in `lane` at its end.
  void launched(unsigned lane, std::uint64_t number) noexcept;

 private:
  static constexpr std::uint32_t block_threads = 64;
  struct list {
    registered_slabs::piece piece;
    unsigned lane = 0;
    std::uint64_t number = 0;  // the completion number of the replay that uses the list
  };
  void choose();
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS entry_for(std::uint32_t count) noexcept;

  context::context_handle const& context_;
  registered_slabs& memory_;
  completion_page const& page_;
  CUfunction update_;
  CUgraphNode entry_ = nullptr;
  std::vector<std::uint64_t> nodes_;  // device handles by node; 0: not updatable
  std::uint32_t stride_ = 0;
  std::vector<list> lists_;
  std::size_t max_records_ = 0;    // maximum number of records for the next replay
  std::size_t chosen_ = 0;         // the list that the next replay uses
  std::uint32_t pending_ = 0;      // number of records that were put for the next replay
  std::uint32_t entry_holds_ = 0;  // number of records that the entry node is set to copy
  CUdeviceptr address_ = 0;        // address_ and count_ are parameters of the entry node
  std::uint32_t count_ = 0;
  std::array<void*, 3> parameters_;
};

}  // namespace flotilla::dispatch
