// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of each kind of node. When the application sets parameters, the driver checks and
// copies them. A graph, an executable graph and each launch in flight have separate copies, so a
// change to one copy does not affect the others.

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

/// Packed arguments of a kernel. Copying and resizing allocate only if the new size exceeds the
/// capacity, which never shrinks.
class argument_store {
 public:
  argument_store() noexcept {}  // NOLINT: `= default` would make `argument_store{}` clear the bytes
  argument_store(argument_store const& other) { *this = other; }
  argument_store& operator=(argument_store const& other);
  /// Sets the size. Afterwards the contents are undefined. If resize() throws std::bad_alloc,
  /// nothing has changed.
  void resize(std::size_t bytes);
  [[nodiscard]] std::byte* data() noexcept { return large_ ? large_.get() : inline_.data(); }
  [[nodiscard]] std::byte const* data() const noexcept {
    return large_ ? large_.get() : inline_.data();
  }

 private:
  // The device thread reads only the first two members (see kernel_work).
  std::unique_ptr<std::byte[]> large_;
  alignas(16) std::array<std::byte, inline_argument_bytes> inline_;
  std::size_t bytes_ = 0;
  std::size_t capacity_ = inline_argument_bytes;
};

/// The members that the device thread reads come first. For a kernel with few arguments, these
/// members fill two cache lines. After a rewrite, the device thread fetches only these two lines
/// from the cache of another core.
struct kernel_work {
  kernel_work() = default;
  kernel_work(kernel_work const&) = default;
  kernel_work& operator=(kernel_work const& other);

  std::shared_ptr<loaded_image const> image;   // keeps the image loaded
  cpu::kernel_record const* kernel = nullptr;  // a kernel of `image`
  CUcontext owner = nullptr;                   // the context that the kernel runs in
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
  std::vector<CUstreamBatchMemOpParams> operations;  // run in this order
};

struct record_work {
  CUevent event = nullptr;
  std::shared_ptr<event_record> made;  // set in a launch's copy only
};

struct wait_work {
  CUevent event = nullptr;
  std::shared_ptr<event_record> awaited;  // set in a launch's copy only; null: no wait
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

/// Makes the same checks as a launch, and copies the function and the arguments. If `context` is
/// not null, the function must belong to that context. On an error or std::bad_alloc, changes
/// nothing. Allocates only if the arguments need more bytes than the capacity of `work.arguments`.
[[nodiscard]] CUresult set_kernel(kernel_work& work, CUDA_KERNEL_NODE_PARAMS const& wanted,
                                  CUcontext context);

/// Checks and copies a list of memory operations. On an error or std::bad_alloc, changes nothing.
[[nodiscard]] CUresult set_memory_ops(memory_ops_work& work,
                                      CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);
/// Like set_memory_ops(), but for a node of an executable graph. The new list must have the same
/// context and the same number and kinds of operations.
[[nodiscard]] CUresult rewrite_memory_ops(memory_ops_work& work,
                                          CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted);

/// Check and store the parameters of a node that copies or fills one row. Return
/// CUDA_ERROR_NOT_SUPPORTED for arrays and for several rows, and CUDA_ERROR_INVALID_CONTEXT if
/// `context` does not exist. On an error, change nothing.
[[nodiscard]] CUresult set_copy(copy_work& work, CUDA_MEMCPY3D const& wanted, CUcontext context);
[[nodiscard]] CUresult set_fill(fill_work& work, CUDA_MEMSET_NODE_PARAMS const& wanted,
                                CUcontext context);

/// Whether the operation waits for a value.
[[nodiscard]] bool is_wait(CUstreamBatchMemOpParams const& operation) noexcept;
/// Converts an operation that waits for a value.
[[nodiscard]] wait_value wait_of(CUstreamBatchMemOpParams const& operation) noexcept;
/// Runs an operation that does not wait.
/// @param device  The device that runs the graph.
void execute_memory_op(CUstreamBatchMemOpParams const& operation, int device) noexcept;

}  // namespace flotilla::cpu_driver
