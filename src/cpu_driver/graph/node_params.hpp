#pragma once
// What the nodes of a graph do, as data: the parameters of each kind of node, checked and copied
// when they are set. A graph, an executable graph and each launch in flight have copies of their
// own, so that changing one does not touch the others.

#include <cuda.h>

#include <flotilla/cpu_image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "cpu_driver/event.hpp"
#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

/// Packed arguments of a kernel. Copying and resizing allocate only where more is needed than ever
/// before.
class argument_store {
 public:
  argument_store() noexcept {}  // NOLINT: `= default` would clear the bytes
  argument_store(argument_store const& other) { *this = other; }
  argument_store& operator=(argument_store const& other);
  /// What was there is lost. Throws std::bad_alloc, and then nothing has changed.
  void resize(std::size_t bytes);
  [[nodiscard]] std::byte* data() noexcept { return large_ ? large_.get() : inline_.data(); }
  [[nodiscard]] std::byte const* data() const noexcept {
    return large_ ? large_.get() : inline_.data();
  }

 private:
  // What a device reads comes first: see kernel_work.
  std::unique_ptr<std::byte[]> large_;
  alignas(16) std::array<std::byte, inline_argument_bytes> inline_;
  std::size_t bytes_ = 0;
  std::size_t capacity_ = inline_argument_bytes;
};

/// Laid out so that a kernel with few arguments runs from two cache lines: after rewriting each has
/// to travel from the rewriting core to the device's.
struct kernel_work {
  kernel_work() = default;
  kernel_work(kernel_work const&) = default;
  kernel_work& operator=(kernel_work const& other);

  std::shared_ptr<loaded_image const> image;   // stays loaded while a node or a launch needs it
  cpu::kernel_record const* kernel = nullptr;  // of that image
  CUcontext owner = nullptr;                   // where it runs
  cpu::index3 grid_size{};
  cpu::index3 block_size{};
  std::uint32_t dynamic_shared_bytes = 0;
  argument_store arguments;
  CUfunction func = nullptr;  // as given, for who asks
  CUkernel kern = nullptr;
};

struct memory_ops_work {
  CUcontext owner = nullptr;
  unsigned flags = 0;
  std::vector<CUstreamBatchMemOpParams> operations;  // one after the other
};

struct record_work {
  CUevent what = nullptr;
  std::shared_ptr<occurrence> made;  // of one launch
};

struct wait_work {
  CUevent what = nullptr;
  std::shared_ptr<occurrence> awaited;  // of one launch; null when there is nothing to wait for
};

struct copy_work {
  void* to = nullptr;
  void const* from = nullptr;
  std::size_t bytes = 0;
};

struct fill_work {
  fill_memory what{};
};

struct empty_work {};

using node_work =
    std::variant<empty_work, kernel_work, memory_ops_work, record_work, wait_work, call_host, copy_work, fill_work>;

[[nodiscard]] CUgraphNodeType type_of(node_work const& work) noexcept;

/// Checks as a launch is checked, and copies function and arguments. Unless CUDA_SUCCESS `work` is
/// as it was. `context`: where the function has to belong; null: anywhere. Throws std::bad_alloc,
/// and then nothing has changed; allocates nothing when `work` had as many arguments before.
[[nodiscard]] CUresult set_kernel(kernel_work& work, CUDA_KERNEL_NODE_PARAMS const& wanted,
                                  CUcontext context);

/// Checks and copies a list of memory operations; the same promises.
[[nodiscard]] CUresult set_memory_ops(memory_ops_work& work,
                                      CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);
/// The same for a node of an executable graph: number and kinds of operations and the context stay.
[[nodiscard]] CUresult rewrite_memory_ops(memory_ops_work& work,
                                          CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);

/// Checks and takes over a copy or a fill of one row; CUDA_ERROR_NOT_SUPPORTED for arrays and for
/// more rows. Unless CUDA_SUCCESS `work` is as it was. `context` must be one.
[[nodiscard]] CUresult set_copy(copy_work& work, CUDA_MEMCPY3D const& wanted, CUcontext context);
[[nodiscard]] CUresult set_fill(fill_work& work, CUDA_MEMSET_NODE_PARAMS const& wanted, CUcontext context);

/// Whether the operation waits for a value, and for which.
[[nodiscard]] bool is_wait(CUstreamBatchMemOpParams const& operation) noexcept;
[[nodiscard]] wait_value wait_of(CUstreamBatchMemOpParams const& operation) noexcept;
/// Runs one that does not wait.
void perform_memory_op(CUstreamBatchMemOpParams const& operation) noexcept;

}  // namespace flotilla::cpu_driver
