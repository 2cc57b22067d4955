// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/memory/host_arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

namespace {
constexpr std::size_t page_bytes = 65536;  // a multiple of the page size of every machine
}

host_arena::host_arena()
    : memory_(make_sealed_memory("flotilla host memory", host_bytes)),
      mapped_(memory_, host_bytes, reinterpret_cast<void*>(host_base)),
      addresses_(host_base, host_bytes, page_bytes) {
  // A child of fork() must not write to the memory of running devices.
  ::madvise(mapped_.data(), host_bytes, MADV_DONTFORK);
  ::madvise(mapped_.data(), host_bytes, MADV_DONTDUMP);
}

void* host_arena::allocate(std::size_t bytes, unsigned flags) {
  std::lock_guard const lock{mutex_};
  std::uintptr_t const start = addresses_.take(bytes);
  if (start == 0) { return nullptr; }
  auto* const address = reinterpret_cast<std::byte*>(start);
  try {
    blocks_.emplace(address, block{address, ++last_id_, bytes, addresses_.rounded(bytes), flags});
  } catch (...) {
    addresses_.give_back(start, bytes);
    throw;
  }
  return address;
}

void* host_arena::reuse(std::size_t bytes, unsigned flags) {
  std::lock_guard const lock{mutex_};
  std::size_t const wanted = addresses_.rounded(bytes);
  block* best = nullptr;
  for (auto& [start, one] : blocks_) {
    bool const fits =
        one.is_kept && one.flags == flags && one.capacity >= wanted && one.capacity / 2 <= wanted;
    if (fits && (best == nullptr || one.capacity < best->capacity)) { best = &one; }
  }
  if (best == nullptr) { return nullptr; }
  best->is_kept = false;
  best->bytes = bytes;
  kept_bytes_ -= best->capacity;
  return best->address;
}

bool host_arena::keep(void* address) {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(static_cast<std::byte*>(address));
  bool const fits =
      found != blocks_.end() && kept_bytes_ + found->second.capacity <= max_kept_bytes;
  if (!fits) { return false; }
  found->second.is_kept = true;
  kept_bytes_ += found->second.capacity;
  return true;
}

bool host_arena::free(void* address) noexcept {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(static_cast<std::byte*>(address));
  if (found == blocks_.end()) { return false; }
  std::size_t const bytes = found->second.bytes;
  auto const start = reinterpret_cast<std::uintptr_t>(address);
  // The next user of the range must find zeros, and the system gets the pages back.
  ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(start - host_base), static_cast<off_t>(addresses_.rounded(bytes)));
  addresses_.give_back(start, bytes);
  blocks_.erase(found);
  return true;
}

std::optional<host_arena::block> host_arena::find(void const* address) const {
  if (!is_host_address(reinterpret_cast<std::uintptr_t>(address))) { return std::nullopt; }
  auto const* const at = static_cast<std::byte const*>(address);
  std::lock_guard const lock{mutex_};
  auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) { return std::nullopt; }
  block const& found = (--after)->second;
  bool const is_inside = !found.is_kept && at < found.address + found.bytes;
  return is_inside ? std::optional{found} : std::nullopt;
}

void* host_arena::placeholder() {
  std::call_once(placeholder_made_, [this] {
    placeholder_ = allocate(1);
    if (placeholder_ != nullptr) { set_registered(placeholder_, true); }
  });
  return placeholder_;
}

void host_arena::set_registered(void const* address, bool is_registered) {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(static_cast<std::byte const*>(address));
  if (found != blocks_.end()) { found->second.is_registered = is_registered; }
  ++version_;
}

void host_arena::set_here(void const* address, bool is_here) {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(static_cast<std::byte const*>(address));
  if (found != blocks_.end()) { found->second.is_here = is_here; }
}

}  // namespace flotilla::isolated
