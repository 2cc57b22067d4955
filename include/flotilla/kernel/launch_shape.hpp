// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The grid, the block and the attributes of a launch.

#include <cstdint>
#include <type_traits>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The size of a grid in blocks, of a block in threads, or of a cluster in blocks, in three
/// dimensions. Each dimension must be at least 1.
struct extent {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr extent() = default;
  constexpr extent(std::uint32_t x_size, std::uint32_t y_size = 1, std::uint32_t z_size = 1)
      : x{x_size}, y{y_size}, z{z_size} {}
  bool operator==(extent const&) const = default;
};

/// The maximum number of blocks in a cluster.
enum class cluster_limit : std::uint8_t {
  portable,     ///< 8 blocks, which all GPUs with clusters support
  non_portable  ///< 16 blocks, which only some GPUs support, such as an H200
};

/// The attributes that only few launches have. A launch with an attribute cannot be recorded. A
/// cooperative launch and a launch in clusters share no batch with other tasks.
struct launch_attributes {
  extent cluster{};  ///< 1 x 1 x 1: no clusters, unless the source of the kernel sets a size
  flotilla::cluster_limit cluster_limit = cluster_limit::portable;
  bool cooperative = false;
  bool programmatic = false;
  bool operator==(launch_attributes const&) const = default;
  /// Returns whether the launch must not share a batch with other tasks.
  [[nodiscard]] constexpr bool prevent_batch() const noexcept {
    return cooperative || cluster.x != 1 || cluster.y != 1 || cluster.z != 1;
  }
};

/// Everything that describes a launch except the kernel and its arguments.
struct launch_shape {
  extent grid{};
  extent block{};
  std::uint32_t dynamic_shared_bytes = 0;
  launch_attributes attributes{};
};

namespace detail {

/// Returns whether the extents are within the limits, which are the same for all CUDA devices.
[[nodiscard]] constexpr bool are_possible(extent const& grid, extent const& block) noexcept {
  // Subtracting 1 from an extent of 0 gives the greatest number. So one comparison finds zeros as
  // well as extents that are too large.
  return grid.x - 1 < 0x7fff'ffff && grid.y - 1 < 0xffff && grid.z - 1 < 0xffff &&
         ((block.x - 1) | (block.y - 1)) < 1024 && block.z - 1 < 64 &&
         block.x * block.y * block.z <= 1024;
}

[[noreturn]] FLOTILLA_EXPORT void refuse_thread_count(long long threads);

/// Returns a one-dimensional grid of at least `threads` threads.
template <class Count>
[[nodiscard]] extent grid_for(Count threads,
                              std::uint32_t block) noexcept(!std::is_signed_v<Count>) {
  static_assert(std::is_integral_v<Count>, "the number of threads must be an integer");
  if constexpr (std::is_signed_v<Count>) {
    if (threads < 0) { refuse_thread_count(threads); }
  }
  // Clamped, because a number that wraps around would launch fewer threads than requested.
  constexpr std::uint64_t max_blocks = UINT32_MAX;
  auto const count = static_cast<std::uint64_t>(threads);
  std::uint64_t const blocks = block == 0 ? 0 : count / block + (count % block != 0);
  return extent{static_cast<std::uint32_t>(blocks < max_blocks ? blocks : max_blocks)};
}

}  // namespace detail

/// The functions that set the attributes of a launch. They are functions of the object that `over`
/// and `with_shape` of a kernel return. Each returns a changed copy of that object:
///
///     rt.submit(reduce.with_shape({64}, {256}).shared(16384).cluster({8})(x, sums, n));
///
/// `submit` checks the values: see each function. Threads: same rules as for an `int`. Cost: no
/// driver call.
/// @tparam Self  The class that derives from this class.
template <class Self>
class shape_functions {
 public:
  /// Gives each block `bytes` bytes of shared memory in addition to the kernel's static shared
  /// memory. If the kernel needs more than 48 KiB in total, the runtime raises the kernel's limit
  /// on the device. More than the device has is an error of the task (driver_error), which names
  /// the maximum.
  [[nodiscard]] Self shared(std::uint32_t bytes) const {
    return changed([bytes](launch_shape& shape) { shape.dynamic_shared_bytes = bytes; });
  }

  /// Groups the blocks of the grid into clusters of `size` blocks (GPUs of compute capability 9.0
  /// or later). `submit` throws invalid_argument in these cases:
  /// - a dimension of `size` is 0, or does not divide the same dimension of the grid;
  /// - a cluster has more than 8 blocks, or more than 16 with cluster_limit::non_portable;
  /// - the runtime has CPU devices, and a cluster has more than one block.
  /// If the kernel's blocks are so large that the device cannot hold a cluster, the task fails with
  /// driver_error.
  [[nodiscard]] Self cluster(extent size, cluster_limit limit = cluster_limit::portable) const {
    return changed([size, limit](launch_shape& shape) {
      shape.attributes.cluster = size;
      shape.attributes.cluster_limit = limit;
    });
  }

  /// Starts all blocks of the grid together, so that they can wait for each other
  /// (cooperative_groups::grid_group::sync). If the grid does not fit on the device, the task fails
  /// with driver_error, which names the maximum. CPU devices run only cooperative grids of one
  /// block: `submit` throws invalid_argument for larger ones.
  [[nodiscard]] Self cooperative() const {
    return changed([](launch_shape& shape) { shape.attributes.cooperative = true; });
  }

  /// Lets the kernel start before its predecessor has ended (programmatic dependent launch). The
  /// kernel starts when all blocks of the predecessor have called
  /// cudaTriggerProgrammaticLaunchCompletion or have exited. Before it uses results of the
  /// predecessor, or memory that the predecessor uses, it must call cudaGridDependencySynchronize.
  ///
  /// The early start is possible if `after` names one task, a launch on the same device with the
  /// same priority, and if the runtime takes both from its queue together. In all other cases, and
  /// on CPU devices, the kernel starts when its predecessors have ended. The runtime launches both
  /// without a graph, and the end of the predecessor becomes visible only when this task has ended.
  [[nodiscard]] Self programmatic() const {
    return changed([](launch_shape& shape) { shape.attributes.programmatic = true; });
  }

  [[nodiscard]] launch_shape const& shape() const noexcept { return shape_; }

 private:
  friend Self;
  explicit shape_functions(launch_shape const& shape) noexcept : shape_{shape} {}

  template <class Change>
  [[nodiscard]] Self changed(Change const& change) const {
    Self copy{static_cast<Self const&>(*this)};
    change(copy.shape_);
    return copy;
  }

  launch_shape shape_;
};

}  // namespace v0_1
}  // namespace flotilla
