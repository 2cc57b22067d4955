#pragma once
// What the device itself writes into the nodes of a graph, just before they run.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "dispatch/mapped_slabs.hpp"
#include "dispatch/node_record.hpp"

namespace flotilla::dispatch {

/// To have the driver rewrite a node costs the host 100 to 300 ns, with a lock that all devices of the process share; to
/// write down here what the node is to hold, some 10. The graph's first node is a kernel (own_functions::updater) that
/// carries it over. What cannot be changed so is a node's function, its block and its shared memory.
///
/// Every launch says all of every node. Nothing hangs on what an earlier launch left there: were it ever lost, a node would run an
/// old task again, or a task in another's grid, launch after launch.
///
/// Only the holder of the device's lease, and only while no launch of the graph is in flight.
class node_records {
 public:
  /// @throws driver_error, std::bad_alloc
  node_records(mapped_slabs& memory, std::uint32_t count, std::uint32_t argument_bytes);
  ~node_records() { memory_.give_back(piece_); }
  node_records(node_records const&) = delete;
  node_records& operator=(node_records const&) = delete;

  /// The parameters of the kernel that carries them over, as long as this lives.
  [[nodiscard]] void** parameters() noexcept { return parameters_.data(); }

  /// Record `i` is for that node.
  void attach(std::uint32_t i, CUgraphDeviceNode node) noexcept;
  /// Before each launch one of these for each node: it runs that, or nothing.
  void put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid, std::byte const* arguments) noexcept;
  void disable(std::uint32_t i) noexcept;

 private:
  [[nodiscard]] node_record& at(std::uint32_t i) noexcept;

  std::uint32_t count_;
  std::uint32_t argument_bytes_;
  std::uint32_t stride_;
  mapped_slabs& memory_;
  mapped_slabs::piece piece_;
  std::array<void*, 3> parameters_;
};

}  // namespace flotilla::dispatch
