// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/graph/node_params.hpp"

#include <cstring>

#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/context.hpp"
#include "cpu_driver/context/context_stack.hpp"
#include "cpu_driver/context/green_context.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/module/launch_check.hpp"
#include "cpu_driver/module/module.hpp"
#include "cpu_driver/stream/execute.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Finds the function that a node's parameters name: `func` if `func` is set, otherwise `kern` in
/// the context `ctx`. If `ctx` is null, uses the current context instead.
CUresult find_node_function(CUDA_KERNEL_NODE_PARAMS const& wanted, function::ref& found) {
  if (wanted.func != nullptr) {
    found = function::table().find(wanted.func);
    if (found) { return CUDA_SUCCESS; }
  }
  // `func` may also hold a CUkernel. `ctx` is ignored whenever `func` is set.
  CUkernel const kernel =
      wanted.func != nullptr ? reinterpret_cast<CUkernel>(wanted.func) : wanted.kern;
  if (kernel == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  bool const named = wanted.func == nullptr && wanted.ctx != nullptr;
  CUcontext const where = named ? wanted.ctx : context_stack::top();
  if (where == nullptr) { return CUDA_ERROR_INVALID_CONTEXT; }
  found = remembered_function(kernel, where);
  if (found) { return CUDA_SUCCESS; }
  auto const owner = context::table().find(where);
  if (!owner) { return named ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED; }
  return find_function(reinterpret_cast<CUfunction>(kernel), owner->resources(), found);
}

/// Size in bytes of the word that the operation writes or waits for; 0 for other operations.
std::uint8_t width_of(CUstreamBatchMemOpParams const& operation) noexcept {
  switch (raw_enum(operation.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return 4;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return 8;
    default: return 0;
  }
}

std::uint64_t value_of(cuuint32_t narrow, cuuint64_t wide, std::uint8_t width) noexcept {
  return width == 4 ? narrow : wide;
}

CUresult check_memory_op(CUstreamBatchMemOpParams const& each) {
  std::uint8_t const width = width_of(each);
  if (is_wait(each)) {
    unsigned const comparison = each.waitValue.flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
    bool const good = comparison <= CU_STREAM_WAIT_VALUE_NOR &&
                      memory_map::of_process().has_word(each.waitValue.address, width);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (width != 0) {
    constexpr unsigned known = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    bool const good = (each.writeValue.flags & ~known) == 0 &&
                      memory_map::of_process().has_word(each.writeValue.address, width);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  switch (raw_enum(each.operation)) {
    case CU_STREAM_MEM_OP_BARRIER:
      return each.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_memory_ops(CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted) {
  constexpr unsigned max_operations = 256;
  if (wanted.count == 0 || wanted.count > max_operations || wanted.paramArray == nullptr ||
      wanted.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (CUresult const status = check_memory_op(wanted.paramArray[i])) { return status; }
  }
  return CUDA_SUCCESS;
}

}  // namespace

argument_store& argument_store::operator=(argument_store const& other) {
  if (this != &other) {
    resize(other.bytes_);
    std::memcpy(data(), other.data(), other.bytes_);
  }
  return *this;
}

void argument_store::resize(std::size_t bytes) {
  if (bytes > capacity_) {
    large_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity_ = bytes;
  }
  bytes_ = bytes;
}

kernel_work& kernel_work::operator=(kernel_work const& other) {
  arguments = other.arguments;  // first, because only this assignment can throw
  func = other.func;
  kern = other.kern;
  owner = other.owner;
  // Usually the image is the same. Then skip the assignment, because it would write the reference
  // count, which other threads use.
  if (image != other.image) { image = other.image; }
  kernel = other.kernel;
  grid_size = other.grid_size;
  block_size = other.block_size;
  dynamic_shared_bytes = other.dynamic_shared_bytes;
  return *this;
}

CUgraphNodeType type_of(node_work const& work) noexcept {
  struct namer {
    CUgraphNodeType operator()(empty_work const&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(kernel_work const&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(memory_ops_work const&) const {
      return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    }
    CUgraphNodeType operator()(record_work const&) const { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(wait_work const&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(call_host const&) const { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(copy_work const&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(fill_work const&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
  };
  return std::visit(namer{}, work);
}

CUresult set_kernel(kernel_work& work, CUDA_KERNEL_NODE_PARAMS const& wanted, CUcontext context) {
  function::ref called;
  if (CUresult const status = find_node_function(wanted, called)) { return status; }
  CUcontext const owner = called->owner().self();
  if (context != nullptr && owner != context) { return CUDA_ERROR_INVALID_VALUE; }
  launch_request const request{wanted.func,
                               {wanted.gridDimX, wanted.gridDimY, wanted.gridDimZ},
                               {wanted.blockDimX, wanted.blockDimY, wanted.blockDimZ},
                               wanted.sharedMemBytes,
                               wanted.kernelParams,
                               wanted.extra};
  checked_launch checked;
  if (CUresult const status = check_launch(request, *called, checked)) { return status; }
  std::shared_ptr<loaded_image const> other_image;
  if (work.image.get() != &called->image()) {
    auto const found_module = module::table().find(called->module_handle());
    if (!found_module) { return CUDA_ERROR_INVALID_HANDLE; }
    other_image = found_module->image();
  }
  work.arguments.resize(checked.bytes);
  // From here on, no call can fail.
  work.func = wanted.func;
  work.kern = wanted.func != nullptr ? nullptr : wanted.kern;
  work.owner = owner;
  if (other_image) { work.image = std::move(other_image); }
  work.kernel = &called->record();
  work.grid_size = request.grid_size;
  work.block_size = request.block_size;
  work.dynamic_shared_bytes = request.dynamic_shared_bytes;
  pack_arguments(work.arguments.data(), request, *work.kernel, checked);
  return CUDA_SUCCESS;
}

CUresult set_memory_ops(memory_ops_work& work, CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted) {
  CUcontext const owner = wanted.ctx != nullptr ? wanted.ctx : context_stack::top();
  if (!is_any_context(owner)) { return CUDA_ERROR_INVALID_CONTEXT; }
  if (CUresult const status = check_memory_ops(wanted)) { return status; }
  work.operations.assign(wanted.paramArray, wanted.paramArray + wanted.count);
  work.owner = owner;
  work.flags = wanted.flags;
  return CUDA_SUCCESS;
}

CUresult rewrite_memory_ops(memory_ops_work& work, CUDA_BATCH_MEM_OP_NODE_PARAMS const& wanted) {
  if (wanted.count != work.operations.size()) { return CUDA_ERROR_INVALID_VALUE; }
  if (wanted.ctx != nullptr && wanted.ctx != work.owner) { return CUDA_ERROR_INVALID_VALUE; }
  if (CUresult const status = check_memory_ops(wanted)) { return status; }
  for (unsigned i = 0; i < wanted.count; ++i) {
    if (wanted.paramArray[i].operation != work.operations[i].operation) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  work.operations.assign(wanted.paramArray, wanted.paramArray + wanted.count);
  return CUDA_SUCCESS;
}

bool is_wait(CUstreamBatchMemOpParams const& operation) noexcept {
  auto const kind = raw_enum(operation.operation);
  return kind == CU_STREAM_MEM_OP_WAIT_VALUE_32 || kind == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

wait_value wait_of(CUstreamBatchMemOpParams const& operation) noexcept {
  auto const& wanted = operation.waitValue;
  std::uint8_t const width = width_of(operation);
  return {reinterpret_cast<void const*>(wanted.address),
          value_of(wanted.value, wanted.value64, width),
          wanted.flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH}, width};
}

void execute_memory_op(CUstreamBatchMemOpParams const& operation, int device) noexcept {
  std::uint8_t const width = width_of(operation);
  if (width == 0) { return; }  // a barrier has no effect, because one thread runs all operations
  auto const& wanted = operation.writeValue;
  execute_write({reinterpret_cast<void*>(wanted.address),
                 value_of(wanted.value, wanted.value64, width), width},
                device);
}

}  // namespace flotilla::cpu_driver
