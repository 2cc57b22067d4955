// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records with which a device updates the nodes of one graph template.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "dispatch/graph/node_record.hpp"
#include "dispatch/lane/registered_slabs.hpp"

namespace flotilla::dispatch {

/// The host writes one record for each node. The graph's first node is a kernel
/// (builtin_functions::update) that copies the records into the nodes. The kernel cannot change a
/// node's function, block size or shared memory size. Writing a record costs the host 10 ns.
/// Rewriting a node through the driver costs 100 to 300 ns, under a lock that all devices of the
/// process share.
///
/// Before every launch, the host writes complete records for all nodes, so no node depends on the
/// updates of an earlier launch. Otherwise, after one lost update, a node would run an old task
/// again in every later launch.
///
/// Threads: only the holder of the device's lease, while no launch of the graph is in flight.
class node_records {
 public:
  /// @throws driver_error, std::bad_alloc
  node_records(registered_slabs& memory, std::uint32_t count, std::uint32_t argument_bytes);
  ~node_records() { memory_.give_back(piece_); }
  node_records(node_records const&) = delete;
  node_records& operator=(node_records const&) = delete;

  /// The parameters of the updating kernel. They are valid as long as this object exists.
  [[nodiscard]] void** parameters() noexcept { return parameters_.data(); }

  /// Assigns record `i` to the node.
  void attach(std::uint32_t i, CUgraphDeviceNode node) noexcept;
  /// Before each launch, the caller must call `put` or `disable` for each node: `put` sets the
  /// node's launch, and `disable` makes the node do nothing.
  void put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid,
           std::byte const* arguments) noexcept;
  void disable(std::uint32_t i) noexcept;

 private:
  [[nodiscard]] node_record& at(std::uint32_t i) noexcept;

  std::uint32_t count_;
  std::uint32_t argument_bytes_;
  std::uint32_t stride_;
  registered_slabs& memory_;
  registered_slabs::piece piece_;
  std::array<void*, 3> parameters_;
};

}  // namespace flotilla::dispatch
