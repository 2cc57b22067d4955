// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/memory/device_memory.hpp"

#include <algorithm>
#include <bit>

#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

namespace {

constexpr std::size_t smallest_piece = 256;  // the alignment that cuMemAlloc guarantees

CUmemAllocationProp properties_of(int ordinal) noexcept {
  CUmemAllocationProp made{};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made.location.id = ordinal;
  return made;
}

std::size_t granularity_of(driver::table const& base, int ordinal) noexcept {
  constexpr std::size_t usual = std::size_t{2} << 20;
  std::size_t found = 0;
  CUmemAllocationProp const wanted = properties_of(ordinal);
  bool const is_known = base.mem_get_allocation_granularity != nullptr &&
                        base.mem_get_allocation_granularity(
                            &found, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS;
  return is_known && found != 0 ? found : usual;
}

}  // namespace

device_memory::device_memory(driver::table const& base, int ordinal) noexcept
    : base_(base),
      ordinal_(ordinal),
      granularity_(granularity_of(base, ordinal)),
      addresses_(device_start(ordinal), device_bytes, granularity_) {}

CUmemAllocationProp device_memory::properties() const noexcept { return properties_of(ordinal_); }

std::size_t device_memory::piece_of(std::size_t bytes) const noexcept {
  return bytes > granularity_ / 2 ? 0 : std::bit_ceil(std::max(bytes, smallest_piece));
}

std::optional<CUdeviceptr> device_memory::take(std::size_t bytes, std::uint32_t context) {
  std::size_t const piece = piece_of(bytes);
  for (auto& [address, one] : blocks_) {
    bool const fits =
        piece == 0 ? one.piece_bytes == 0 && one.used == 0 && one.bytes == addresses_.rounded(bytes)
                   : one.piece_bytes == piece && !one.free.empty();
    if (!fits) { continue; }
    CUdeviceptr const found = address + (piece != 0 ? one.free.back() * piece : 0);
    allocations_[found] = {found, bytes, context, ++version_};
    if (piece != 0) { one.free.pop_back(); }
    ++one.used;
    return found;
  }
  return std::nullopt;
}

CUresult device_memory::make_block(std::size_t bytes, CUdeviceptr& made) {
  if (base_.mem_create == nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  block one;
  one.piece_bytes = piece_of(bytes);
  one.bytes = addresses_.rounded(std::max(bytes, std::size_t{1}));
  if (one.bytes < bytes) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUmemAllocationProp const wanted = properties();
  CUresult const answer = base_.mem_create(&one.handle, one.bytes, &wanted, 0);
  if (answer != CUDA_SUCCESS) { return answer; }
  std::size_t const size = one.bytes;
  try {
    one.address = addresses_.take(size);
    if (one.piece_bytes != 0) {
      for (std::size_t i = size / one.piece_bytes; i > 0; --i) {
        one.free.push_back(static_cast<std::uint32_t>(i - 1));
      }
    }
    if (one.address != 0) { blocks_.emplace(one.address, one); }
  } catch (...) {
    if (one.address != 0) { addresses_.give_back(one.address, size); }
    base_.mem_release(one.handle);
    throw;
  }
  if (one.address == 0) {
    base_.mem_release(one.handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  made = one.address;
  bytes_ += size;
  ++version_;
  return CUDA_SUCCESS;
}

CUdeviceptr device_memory::placeholder() {
  // A block of its own: other allocations must not get a part of a block that the present worker
  // has not mapped.
  CUdeviceptr unused = 0;
  if (placeholder_ == 0 && make_block(granularity_, unused) == CUDA_SUCCESS) {
    placeholder_ = take(granularity_, 0).value_or(0);
  }
  return placeholder_;
}

bool device_memory::free(CUdeviceptr address, std::optional<CUdeviceptr>& emptied) {
  if (allocations_.erase(address) == 0) { return false; }
  auto const found = std::prev(blocks_.upper_bound(address));
  block& one = found->second;
  if (one.piece_bytes != 0) {
    one.free.push_back(static_cast<std::uint32_t>((address - one.address) / one.piece_bytes));
  }
  if (--one.used == 0) { emptied = one.address; }
  return true;
}

void device_memory::release_block(CUdeviceptr address, bool is_mapped) noexcept {
  auto const found = blocks_.find(address);
  if (found == blocks_.end()) { return; }
  base_.mem_release(found->second.handle);
  bytes_ -= found->second.bytes;
  ++version_;
  if (is_mapped) {
    abandoned_.insert(blocks_.extract(found));
    return;
  }
  addresses_.give_back(address, found->second.bytes);
  blocks_.erase(found);
}

void device_memory::reuse_abandoned() noexcept {
  for (auto const& [address, one] : abandoned_) { addresses_.give_back(address, one.bytes); }
  abandoned_.clear();
}

CUresult device_memory::share(block const& what, descriptor& made) const {
  int number = -1;
  CUresult const answer = base_.mem_export_to_shareable_handle(
      &number, what.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (answer == CUDA_SUCCESS) { made = descriptor{number}; }
  return answer;
}

device_memory::block const* device_memory::block_at(CUdeviceptr address) const {
  auto const found = blocks_.find(address);
  return found != blocks_.end() ? &found->second : nullptr;
}

std::optional<device_memory::allocation> device_memory::find(CUdeviceptr address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) { return std::nullopt; }
  allocation const& found = (--after)->second;
  return address - found.address < found.bytes ? std::optional{found} : std::nullopt;
}

std::optional<CUdeviceptr> device_memory::next_of(std::uint32_t context,
                                                  CUdeviceptr after) const noexcept {
  auto each = allocations_.upper_bound(after);
  while (each != allocations_.end() && each->second.context != context) { ++each; }
  return each != allocations_.end() ? std::optional{each->first} : std::nullopt;
}

}  // namespace flotilla::isolated
