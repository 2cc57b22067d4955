#pragma once
// The records from which a device updates the nodes of one graph.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "dispatch/graph/node_record.hpp"
#include "dispatch/lane/registered_slabs.hpp"

namespace flotilla::dispatch {

/// Rewriting a node costs the host 100 to 300 ns in the driver, under a lock that all devices of
/// the process share. Writing a record costs 10 ns. The graph's first node is a kernel
/// (builtin_functions::update) that copies the records into the nodes. It cannot change a node's
/// function, block or shared memory.
///
/// Every launch describes every node completely. Nothing depends on what an earlier launch left in
/// a node. Otherwise a single lost update would make a node run an old task again, launch after
/// launch.
///
/// Only the holder of the device's lease, and only while no launch of the graph is in flight.
class node_records {
 public:
  /// @throws driver_error, std::bad_alloc
  node_records(registered_slabs& memory, std::uint32_t count, std::uint32_t argument_bytes);
  ~node_records() { memory_.give_back(piece_); }
  node_records(node_records const&) = delete;
  node_records& operator=(node_records const&) = delete;

  /// The parameters of the kernel that reads the records. Valid as long as this object.
  [[nodiscard]] void** parameters() noexcept { return parameters_.data(); }

  /// Record `i` describes that node.
  void attach(std::uint32_t i, CUgraphDeviceNode node) noexcept;
  /// Before each launch, call one of these for each node: `put` what it runs, or `disable` it.
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
