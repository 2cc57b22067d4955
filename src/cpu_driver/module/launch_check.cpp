// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/module/launch_check.hpp"

#include <array>
#include <cstring>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {
namespace {

// Each thread has a cache of the functions of recently launched kernels. With the cache, the launch
// of a kernel searches one handle table instead of several. Function handles are never reused, so a
// cached handle is correct as long as it is in the handle table.
struct remembered {
  CUkernel kernel;
  CUcontext owner;
  CUfunction function;
};
constexpr std::size_t cache_size = 64;
thread_local std::array<remembered, cache_size> cache{};

remembered& place_of(CUkernel kernel, CUcontext owner) noexcept {
  auto const mixed =
      reinterpret_cast<std::uintptr_t>(kernel) * 3 + reinterpret_cast<std::uintptr_t>(owner);
  return cache[(mixed >> 4) % cache_size];
}

bool within(cpu::index3 size, std::uint64_t x, std::uint64_t y, std::uint64_t z) noexcept {
  return size.x >= 1 && size.x <= x && size.y >= 1 && size.y <= y && size.z >= 1 && size.z <= z;
}

CUresult check_shape(launch_request const& wanted, function const& called) noexcept {
  using namespace properties;
  cpu::index3 const& block = wanted.block_size;
  if (!within(wanted.grid_size, max_grid_x, max_grid_y, max_grid_z) ||
      !within(block, max_block_x, max_block_y, max_block_z)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::uint32_t const bound = called.record().max_threads_per_block;
  std::uint64_t const max = bound != 0 ? bound : max_threads_per_block;
  bool const fits = std::uint64_t{block.x} * block.y * block.z <= max;
  // relaxed: no other memory depends on the setting
  auto const shared = called.settings().max_dynamic_shared.load(std::memory_order_relaxed);
  return fits && wanted.dynamic_shared_bytes <= static_cast<std::uint32_t>(shared)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

std::size_t packed_bytes(cpu::kernel_record const& kernel) noexcept {
  if (kernel.parameter_count == 0) { return 0; }
  std::uint32_t const last = kernel.parameter_count - 1;
  return kernel.parameter_offsets[last] + kernel.parameter_sizes[last];
}

/// Reads the CU_LAUNCH_PARAM_* list.
CUresult read_extra(void* const* extra, void const*& start, std::size_t& bytes) noexcept {
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      start = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr) {
      bytes = *static_cast<std::size_t const*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return start != nullptr || bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Checks the arguments. If the application passed packed arguments, sets `packed` to their
/// address.
CUresult check_arguments(launch_request const& wanted, cpu::kernel_record const& kernel,
                         void const*& packed) noexcept {
  if (wanted.parameters != nullptr && wanted.extra != nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (wanted.extra != nullptr) {
    std::size_t bytes = 0;
    if (CUresult const status = read_extra(wanted.extra, packed, bytes)) { return status; }
    return bytes >= packed_bytes(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (kernel.parameter_count == 0) { return CUDA_SUCCESS; }
  if (wanted.parameters == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    if (wanted.parameters[i] == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult check_launch(launch_request const& wanted, function const& called,
                      checked_launch& checked) noexcept {
  if (CUresult const status = check_shape(wanted, called)) { return status; }
  checked.bytes = packed_bytes(called.record());
  return check_arguments(wanted, called.record(), checked.packed);
}

void pack_arguments(std::byte* to, launch_request const& wanted, cpu::kernel_record const& kernel,
                    checked_launch const& checked) noexcept {
  if (checked.packed != nullptr) {
    std::memcpy(to, checked.packed, checked.bytes);
    return;
  }
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    std::memcpy(to + kernel.parameter_offsets[i], wanted.parameters[i], kernel.parameter_sizes[i]);
  }
}

function::ref remembered_function(CUkernel kernel, CUcontext owner) noexcept {
  remembered const& place = place_of(kernel, owner);
  if (place.kernel != kernel || place.owner != owner) { return {}; }
  return function::table().find(place.function);
}

CUresult find_function(CUfunction handle, context_resources const& owner, function::ref& found) {
  found = function::table().find(handle);
  if (!found) {
    auto const kernel = reinterpret_cast<CUkernel>(handle);
    found = remembered_function(kernel, owner.handle);
    if (found) { return CUDA_SUCCESS; }
    auto const there = context::table().find(owner.handle);
    if (!there) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
    CUfunction meant = nullptr;
    if (CUresult const status = function_of(kernel, *there, meant)) { return status; }
    found = function::table().find(meant);
    if (!found) { return CUDA_ERROR_INVALID_HANDLE; }
    place_of(kernel, owner.handle) = {kernel, owner.handle, meant};
  }
  return &found->owner().resources() == &owner ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult launch(stream& target, launch_request const& wanted) {
  function::ref called;
  if (CUresult const status = find_function(wanted.function_handle, target.resources(), called)) {
    return status;
  }
  checked_launch checked;
  if (CUresult const status = check_launch(wanted, *called, checked)) { return status; }

  cpu::kernel_record const& kernel = called->record();
  std::size_t const bytes = checked.bytes;
  std::unique_ptr<std::byte[]> large;
  if (bytes > inline_argument_bytes) { large = std::make_unique_for_overwrite<std::byte[]>(bytes); }
  operation* const made = take_operation();
  // Nothing below can fail, so `made` cannot leak. The launch_kernel object is built in place,
  // because it is large.
  auto& todo = made->what.emplace<launch_kernel>();
  todo.image = &called->image();
  todo.kernel = &kernel;
  todo.grid_size = wanted.grid_size;
  todo.block_size = wanted.block_size;
  todo.dynamic_shared_bytes = wanted.dynamic_shared_bytes;
  todo.arguments = large ? large.get() : made->arguments;
  todo.large_arguments = std::move(large);
  pack_arguments(todo.arguments, wanted, kernel, checked);
  target.push(made);
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
