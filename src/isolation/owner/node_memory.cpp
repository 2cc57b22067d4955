// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/node_memory.hpp"

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "isolation/protocol/layout.hpp"
#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

namespace {

std::uintptr_t number_of(void const* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}
std::uintptr_t number_of(CUdeviceptr address) noexcept { return address; }

/// Returns whether there is no block of memory, or whether it ends before the last byte.
template <class Block>
bool lacks(std::optional<Block> const& found, std::uintptr_t address, std::size_t bytes) {
  return !found || bytes > found->bytes - (address - number_of(found->address));
}

/// Returns false for memory that the owner has not allocated.
bool is_freed(std::uintptr_t address, std::size_t bytes, replicated const& from) {
  if (is_host_address(address)) {
    return lacks(from.host.find(reinterpret_cast<void const*>(address)), address, bytes);
  }
  return is_device_address(address) && lacks(from.memory.find(address), address, bytes);
}

/// Changes the address to that of a placeholder, which may be the same, if its memory was freed.
/// @return whether it was. If there is no placeholder, the driver refuses the node.
bool make_usable(std::uintptr_t& address, std::size_t bytes, replicated const& from) {
  if (!is_freed(address, bytes, from)) { return false; }
  address = is_host_address(address) ? number_of(from.host.placeholder())
                                     : number_of(from.memory.placeholder());
  return true;
}

/// The bytes of a source or destination, from its address to the end of its last row.
std::size_t extent(CUDA_MEMCPY3D const& copy, std::size_t x, std::size_t y, std::size_t z,
                   std::size_t pitch, std::size_t rows) noexcept {
  return x + copy.WidthInBytes + pitch * (y + copy.Height - 1 + rows * (z + copy.Depth - 1));
}

std::uintptr_t address_of(CUmemorytype type, void const* host, CUdeviceptr device) noexcept {
  return type == CU_MEMORYTYPE_HOST ? number_of(host) : device;
}

// A node with a placeholder has one element, because the placeholder is small.

void make_usable(CUDA_MEMCPY3D& copy, replicated const& from) {
  std::uintptr_t source = address_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
  std::uintptr_t target = address_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
  std::size_t const source_bytes =
      extent(copy, copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight);
  std::size_t const target_bytes =
      extent(copy, copy.dstXInBytes, copy.dstY, copy.dstZ, copy.dstPitch, copy.dstHeight);
  bool const has_source = !make_usable(source, source_bytes, from);
  bool const has_target = !make_usable(target, target_bytes, from);
  if (has_source && has_target) { return; }
  CUDA_MEMCPY3D one{};
  one.srcMemoryType = copy.srcMemoryType;
  one.dstMemoryType = copy.dstMemoryType;
  // Drivers read one of the two addresses, depending on the type.
  one.srcHost = reinterpret_cast<void const*>(source);
  one.srcDevice = source;
  one.dstHost = reinterpret_cast<void*>(target);
  one.dstDevice = target;
  one.WidthInBytes = one.Height = one.Depth = 1;
  copy = one;
}

void make_usable(CUDA_MEMSET_NODE_PARAMS& fill, replicated const& from) {
  std::uintptr_t target = fill.dst;
  std::size_t const row = fill.width * fill.elementSize;
  if (!make_usable(target, fill.pitch * (fill.height - 1) + row, from)) { return; }
  fill.dst = target;
  fill.width = fill.height = 1;
}

/// Changes the parameters of a node, which are in front of the context at the end of the request.
template <class Parameters>
void change(std::span<std::byte> request, replicated const& from) {
  constexpr std::size_t bytes = sizeof(Parameters);
  std::byte* const at = request.data() + request.size() - sizeof(std::uint32_t) - bytes;
  Parameters node{};
  std::memcpy(&node, at, bytes);
  make_usable(node, from);
  std::memcpy(at, &node, bytes);
}

}  // namespace

void replace_freed_memory(std::span<std::byte> request, replicated const& from) {
  request_head head{};
  std::memcpy(&head, request.data(), sizeof head);
  if (head.what == operation::graph_add_memcpy_node) { change<CUDA_MEMCPY3D>(request, from); }
  if (head.what == operation::graph_add_memset_node) {
    change<CUDA_MEMSET_NODE_PARAMS>(request, from);
  }
}

}  // namespace flotilla::isolated
