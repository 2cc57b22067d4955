#pragma once
// The parameters of each kind of node, checked and copied when they are set. A graph, an executable
// graph and each launch in flight have copies of their own, so changing one does not affect the
// others.

#include <cuda.h>

#include <flotilla/kernel_language/image_abi.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "cpu_driver/stream/event.hpp"
#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Packed arguments of a kernel. Copying and resizing allocate only if the size exceeds every
/// earlier size.
class argument_store {
 public:
  argument_store() noexcept {}  // NOLINT: `= default` would clear the bytes
  argument_store(argument_store const& other) { *this = other; }
  argument_store& operator=(argument_store const& other);
  /// Discards the contents. Throws std::bad_alloc, and then nothing has changed.
  void resize(std::size_t bytes);
  [[nodiscard]] std::byte* data() noexcept { return large_ ? large_.get() : inline_.data(); }
  [[nodiscard]] std::byte const* data() const noexcept {
    return large_ ? large_.get() : inline_.data();
  }

 private:
  // The members that a device reads come first: see kernel_work.
  std::unique_ptr<std::byte[]> large_;
  alignas(16) std::array<std::byte, inline_argument_bytes> inline_;
  std::size_t bytes_ = 0;
  std::size_t capacity_ = inline_argument_bytes;
};

/// Laid out so that a kernel with few arguments uses two cache lines. After rewriting, each line
/// travels from the rewriting core to the device's core.
struct kernel_work {
  kernel_work() = default;
  kernel_work(kernel_work const&) = default;
  kernel_work& operator=(kernel_work const& other);

  std::shared_ptr<loaded_image const> image;   // keeps it loaded
  cpu::kernel_record const* kernel = nullptr;  // of that image
  CUcontext owner = nullptr;                   // where it runs
  cpu::index3 grid_size{};
  cpu::index3 block_size{};
  std::uint32_t dynamic_shared_bytes = 0;
  argument_store arguments;
  CUfunction func = nullptr;  // as the application passed it
  CUkernel kern = nullptr;
};

struct memory_ops_work {
  CUcontext owner = nullptr;
  unsigned flags = 0;
  std::vector<CUstreamBatchMemOpParams> operations;  // one after the other
};

struct record_work {
  CUevent event = nullptr;
  std::shared_ptr<event_record> made;  // of one launch
};

struct wait_work {
  CUevent event = nullptr;
  std::shared_ptr<event_record> awaited;  // of one launch; null if there is nothing to wait for
};

struct copy_work {
  void* to = nullptr;
  void const* from = nullptr;
  std::size_t bytes = 0;
};

struct fill_work {
  fill_memory fill{};
};

struct empty_work {};

using node_work = std::variant<empty_work, kernel_work, memory_ops_work, record_work, wait_work,
                               call_host, copy_work, fill_work>;

[[nodiscard]] CUgraphNodeType type_of(node_work const& work) noexcept;

/// Checks the parameters as for a launch, and copies function and arguments. Changes nothing unless
/// it returns CUDA_SUCCESS. If `context` is not null, the function must belong to it. Throws
/// std::bad_alloc, and then nothing has changed. Allocates nothing if `work` had as many arguments
/// before.
[[nodiscard]] CUresult set_kernel(kernel_work& work, CUDA_KERNEL_NODE_PARAMS const& wanted,
                                  CUcontext context);

/// Checks and copies a list of memory operations, with the same guarantees.
[[nodiscard]] CUresult set_memory_ops(memory_ops_work& work,
                                      CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);
/// The same for a node of an executable graph, which must keep its context and the number and kinds
/// of its operations.
[[nodiscard]] CUresult rewrite_memory_ops(memory_ops_work& work,
                                          CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);

/// Checks and copies the parameters of a copy or a fill of one row. CUDA_ERROR_NOT_SUPPORTED for
/// arrays and for more rows. Changes nothing unless it returns CUDA_SUCCESS. `context` must be a
/// context.
[[nodiscard]] CUresult set_copy(copy_work& work, CUDA_MEMCPY3D const& wanted, CUcontext context);
[[nodiscard]] CUresult set_fill(fill_work& work, CUDA_MEMSET_NODE_PARAMS const& wanted,
                                CUcontext context);

/// Whether the operation waits for a value, and the wait itself.
[[nodiscard]] bool is_wait(CUstreamBatchMemOpParams const& operation) noexcept;
[[nodiscard]] wait_value wait_of(CUstreamBatchMemOpParams const& operation) noexcept;
/// Runs an operation that does not wait.
void execute_memory_op(CUstreamBatchMemOpParams const& operation) noexcept;

}  // namespace flotilla::cpu_driver
