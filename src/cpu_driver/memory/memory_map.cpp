// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/memory/memory_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/refusal.hpp"
#include "cpu_driver/memory/memory_account.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t alignment = 256;  // in bytes; cuMemAlloc guarantees this alignment

}  // namespace

memory_map& memory_map::of_process() {
  static auto* const only = new memory_map;
  return *only;
}

CUresult memory_map::allocate(CUdeviceptr& address, std::size_t bytes, memory_kind kind,
                              memory_account& account, CUcontext owner, bool may_wait,
                              unsigned flags) {
  bool const counted = kind == memory_kind::device;
  base::forget_refusal();
  if (counted && !account.reserve(bytes, may_wait)) { return CUDA_ERROR_OUT_OF_MEMORY; }
  void* made = nullptr;
  // Do not round `bytes` up: AddressSanitizer should detect a write to the first byte past the end.
  if (int const error = posix_memalign(&made, alignment, bytes); error != 0) {
    if (counted) { account.give_back(bytes); }
    base::note_refusal(CUDA_ERROR_OUT_OF_MEMORY, base::no_memory{bytes, error}.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  address = reinterpret_cast<CUdeviceptr>(made);
  try {
    std::unique_lock const lock(mutex_);
    insert(address, bytes, kind, account, owner, flags);
  } catch (...) {
    std::free(made);
    if (counted) { account.give_back(bytes); }
    throw;
  }
  return CUDA_SUCCESS;
}

bool memory_map::adopt(void* address, std::size_t bytes, memory_kind kind, memory_account& account,
                       CUcontext owner, unsigned flags) {
  auto const start = reinterpret_cast<CUdeviceptr>(address);
  std::unique_lock const lock(mutex_);
  auto const after = map_.lower_bound(start);
  bool const overlaps =
      (after != map_.end() && after->first < start + bytes) || holder(start) != map_.end();
  if (overlaps) { return false; }
  insert(start, bytes, kind, account, owner, flags);
  return true;
}

void memory_map::insert(CUdeviceptr address, std::size_t bytes, memory_kind kind,
                        memory_account& account, CUcontext owner, unsigned flags) {
  map_.insert_or_assign(address, allocation{.address = address,
                                            .bytes = bytes,
                                            .kind = kind,
                                            .account = &account,
                                            .owner = owner,
                                            .id = next_id_,
                                            .ending = false,
                                            .flags = flags});
  ++next_id_;
}

bool memory_map::free(CUdeviceptr address, memory_kind kind) {
  std::unique_lock lock(mutex_);
  auto const found = map_.find(address);
  if (found == map_.end() || found->second.kind != kind || found->second.ending) { return false; }
  allocation const ended = found->second;
  map_.erase(found);
  lock.unlock();
  destroy(ended);
  return true;
}

bool memory_map::begin_free(CUdeviceptr address) {
  std::unique_lock const lock(mutex_);
  auto const found = map_.find(address);
  if (found == map_.end() || found->second.kind != memory_kind::device || found->second.ending) {
    return false;
  }
  found->second.ending = true;
  found->second.account->expect(found->second.bytes);
  return true;
}

void memory_map::finish_free(CUdeviceptr address) noexcept {
  std::unique_lock lock(mutex_);
  auto const found = map_.find(address);
  if (found == map_.end()) { return; }
  allocation const ended = found->second;
  map_.erase(found);
  lock.unlock();
  std::free(as_pointer(ended.address));
  ended.account->give_back_expected(ended.bytes);
}

void memory_map::cancel_free(CUdeviceptr address) noexcept {
  std::unique_lock const lock(mutex_);
  auto const found = map_.find(address);
  if (found == map_.end()) { return; }
  found->second.ending = false;
  found->second.account->expect_no_more(found->second.bytes);
}

void memory_map::free_all(CUcontext owner) {
  std::vector<allocation> ended;
  {
    std::unique_lock const lock(mutex_);
    for (auto next = map_.begin(); next != map_.end();) {
      if (next->second.owner == owner) {
        ended.push_back(next->second);
        next = map_.erase(next);
      } else {
        ++next;
      }
    }
  }
  for (allocation const& each : ended) { destroy(each); }
}

void memory_map::destroy(allocation const& ended) noexcept {
  bool const is_owned = ended.kind == memory_kind::device || ended.kind == memory_kind::host;
  if (!is_owned) { return; }
  std::free(as_pointer(ended.address));
  if (ended.kind == memory_kind::device) { ended.account->give_back(ended.bytes); }
}

memory_map::map::const_iterator memory_map::holder(CUdeviceptr address) const {
  auto after = map_.upper_bound(address);
  if (after == map_.begin()) { return map_.end(); }
  --after;
  return address - after->first < after->second.bytes ? after : map_.end();
}

std::optional<allocation> memory_map::find(CUdeviceptr address) const {
  std::shared_lock const lock(mutex_);
  auto const found = holder(address);
  return found != map_.end() ? std::optional(found->second) : std::nullopt;
}

bool memory_map::covers(CUdeviceptr address, std::size_t bytes) const {
  std::shared_lock const lock(mutex_);
  auto const found = holder(address);
  return found != map_.end() && !found->second.ending &&
         bytes <= found->second.bytes - (address - found->first);
}

std::size_t memory_map::live() const {
  std::shared_lock const lock(mutex_);
  return static_cast<std::size_t>(std::count_if(map_.begin(), map_.end(), [](auto const& entry) {
    return entry.second.kind != memory_kind::global;
  }));
}

}  // namespace flotilla::cpu_driver
