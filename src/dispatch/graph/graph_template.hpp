#pragma once
// CUDA graphs that are instantiated once and filled anew for every batch.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/end_node.hpp"
#include "dispatch/node_records.hpp"

namespace flotilla::dispatch {

/// `size` kernel nodes in `width` chains side by side. The nodes one behind the other are rows; behind every `run` of
/// them, and behind the last, stands a mark, which writes the lane's next number: so a batch can be long, for the launch
/// costs more than the nodes, and yet the first of its tasks are seen soon. Sizes, widths and runs are powers of two.
/// Several chains begin behind a kernel of ours, where there is one (own_functions::root); and what waits for another device behind
/// another one (own_functions::awaiter).
///
/// Nodes are filled in one of two ways. *Rewritten* by the driver they may hold any launch. *Updated* by the device itself
/// they hold launches of one kernel, in blocks of one shape (see node_records): that costs the host a tenth.
/// Only the holder of the device's lease, with the context current.
class graph_template {
 public:
  struct shape {
    std::uint32_t size;
    std::uint32_t width;
    std::uint32_t run;
    auto operator<=>(shape const&) const = default;
  };
  /// What an awaiter is told: own_functions says it.
  struct awaited {
    CUdeviceptr counter;
    std::uint64_t number;
    CUdeviceptr stopped;
  };
  /// How the device updates one.
  struct updating {
    CUfunction updater;
    std::uint32_t argument_bytes;
    CUstream stream;          // where it will be launched first
    mapped_slabs& memory;
    std::uint32_t family;     // for who made it
  };

  /// What node `i` is to hold, a launch that is valid; good until the next call.
  using filling = std::function<CUDA_KERNEL_NODE_PARAMS const&(std::uint32_t i)>;

  /// All nodes hold `any` at first: a launch that is valid.
  /// @param marker  What writes the number: see end_node.
  /// @param root    Ahead of several chains; null: nothing is.
  /// @param awaiter Ahead of all, instead; null: it waits for nothing.
  /// @throws driver_error, std::bad_alloc
  graph_template(context::floating_context const& context, shape const& wanted, CUDA_KERNEL_NODE_PARAMS const& any,
                 CUdeviceptr counter, CUfunction marker, CUfunction root, CUfunction awaiter = nullptr);
  /// One that the device updates. What updates it is ahead of its chains. Each node holds its task of the first batch from the
  /// beginning, so that nothing hangs on what the device changes for the very first launch: it was once thought lost there
  /// (docs/results/h200x4-first-launch.txt).
  graph_template(context::floating_context const& context, shape const& wanted, filling const& first,
                 CUdeviceptr counter, CUfunction marker, updating const& update);
  ~graph_template();
  graph_template(graph_template const&) = delete;
  graph_template& operator=(graph_template const&) = delete;

  [[nodiscard]] std::uint32_t size() const noexcept { return shape_.size; }
  [[nodiscard]] std::uint32_t width() const noexcept { return shape_.width; }
  [[nodiscard]] std::uint32_t run() const noexcept { return shape_.run; }
  [[nodiscard]] bool marked() const noexcept { return marked_; }
  [[nodiscard]] std::uint32_t marks() const noexcept { return static_cast<std::uint32_t>(marks_.size()); }
  /// The mark behind node `i`.
  [[nodiscard]] std::uint32_t mark_of(std::uint32_t i) const noexcept { return i / width() / run(); }
  [[nodiscard]] bool updated() const noexcept { return records_ != nullptr; }
  /// Whether a kernel of ours is ahead of its nodes.
  [[nodiscard]] bool rooted() const noexcept { return root_ != nullptr; }
  [[nodiscard]] bool awaits() const noexcept { return awaiter_ != nullptr; }
  [[nodiscard]] std::uint32_t family() const noexcept { return family_; }
  /// Whether it was launched before.
  [[nodiscard]] bool has_run() const noexcept { return has_run_; }

  /// Of one that is rewritten. Has node `i` hold this launch from the next `launch` on. One that is in flight keeps what it had.
  /// Other than CUDA_SUCCESS, the node still holds an earlier task: `disable` it.
  [[nodiscard]] CUresult set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept;
  /// Of one that is updated: the same, for a launch that its kernel and its blocks are right for. It must not be in flight.
  void put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid, std::byte const* arguments) noexcept {
    records_->put(i, grid, arguments);
  }
  /// Node `i` does nothing until it is set again.
  [[nodiscard]] CUresult disable(std::uint32_t i) noexcept;
  /// Of one that awaits: what, from the next launch on.
  [[nodiscard]] CUresult await(awaited what) noexcept;
  /// Puts it into the stream. Its marks write `first` and the numbers after it to `counter`.
  [[nodiscard]] CUresult launch(CUstream stream, CUdeviceptr counter, std::uint64_t first) noexcept;

 private:
  void build(filling const& first, CUdeviceptr counter, CUfunction marker);
  void add_root(CUDA_KERNEL_NODE_PARAMS const& what);
  void have_updated(std::uint32_t i);
  void destroy() noexcept;

  context::floating_context const& context_;
  shape shape_;
  bool marked_;
  bool has_run_ = false;
  std::uint32_t family_ = 0;
  std::unique_ptr<node_records> records_;  // null: rewritten
  std::uint64_t disabled_ = 0;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode root_ = nullptr;
  CUfunction awaiter_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<end_node> marks_;
};

/// The templates of one device that are rewritten and not in flight, by their shape; made as they are needed. A template belongs
/// to no lane: whichever is free carries the next batch.
class template_pool {
 public:
  static constexpr std::uint32_t most_size = 64;
  static constexpr std::uint32_t most_width = 8;
  static constexpr std::uint32_t most_marks = 16;

  explicit template_pool(context::floating_context const& context) noexcept;
  /// Whether this driver has all that templates need.
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// What several chains are to begin behind, and what waits for another device: see own_functions. Before any is made.
  void use(CUfunction root, CUfunction awaiter) noexcept {
    root_ = root;
    awaiter_ = awaiter;
  }
  /// A template of `size`, in chains of `width`, no more than that, and with marks behind every `run` rows.
  /// @param marker  What writes its number: see end_node. One and the same, where there is one.
  /// @param awaits  Whether it is to wait for another device; there must be an awaiter.
  /// @throws driver_error  A new one was needed, and could not be made of `any`.
  [[nodiscard]] graph_template& take(std::uint32_t size, std::uint32_t width, std::uint32_t run,
                                     CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction marker,
                                     bool awaits = false);
  /// When its batch is done, or never began.
  void give_back(graph_template& done) noexcept;
  void destroy() noexcept;
  [[nodiscard]] std::size_t made() const noexcept { return all_.size(); }

 private:
  /// By the logarithms of size, width and run, by the marks, and by whether it awaits.
  [[nodiscard]] std::vector<graph_template*>& free_of(std::uint32_t size, std::uint32_t width, std::uint32_t run,
                                                      bool marked, bool awaits) noexcept;

  context::floating_context const& context_;
  bool const usable_;
  CUfunction root_ = nullptr;
  CUfunction awaiter_ = nullptr;
  std::vector<std::unique_ptr<graph_template>> all_;
  std::array<std::array<std::array<std::array<std::vector<graph_template*>, 4>, 7>, 4>, 7> free_;
};

}  // namespace flotilla::dispatch
