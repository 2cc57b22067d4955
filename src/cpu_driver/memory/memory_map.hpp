// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps addresses to the driver's allocations. All devices and the host share one address space.
// Each allocation is a separate block of heap memory. So AddressSanitizer and similar tools detect
// a kernel that writes past the end of an allocation.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace flotilla::cpu_driver {

class memory_account;

enum class memory_kind : std::uint8_t {
  device,      // cuMemAlloc and cuMemAllocAsync; only the latter has the flag `of_pool`
  host,        // pinned: cuMemHostAlloc
  registered,  // memory of the application, pinned by cuMemHostRegister
  global,      // a variable of a module, stored in the module's image
  mapped       // a block of shared_memory, mapped by cuMemMap; the map does not own it
};

struct allocation {
  CUdeviceptr address;
  std::size_t bytes;
  memory_kind kind;
  memory_account* account;  // account of the allocation's device
  CUcontext owner;
  std::uint64_t id;
  bool ending;  // cuMemFreeAsync was called, but the stream has not executed the free yet
  // Host memory: the flags of cuMemHostAlloc or cuMemHostRegister. Device memory: 0 or `of_pool`.
  unsigned flags;
};

/// The flag of device memory from the memory pool of the device.
inline constexpr unsigned of_pool = 1;

[[nodiscard]] inline void* as_pointer(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(address);
}

class memory_map {
 public:
  /// The map of this process. Never destroyed, because threads may use it until the process ends.
  [[nodiscard]] static memory_map& of_process();

  /// Allocates memory. Returns CUDA_ERROR_OUT_OF_MEMORY or throws std::bad_alloc if the host is out
  /// of memory. If the allocation does not fit into the free part of the device's capacity and
  /// `may_wait` is true, waits until pending frees in streams make room. Returns
  /// CUDA_ERROR_OUT_OF_MEMORY if it still does not fit. Host memory does not count towards the
  /// capacity.
  [[nodiscard]] CUresult allocate(CUdeviceptr& address, std::size_t bytes, memory_kind kind,
                                  memory_account& account, CUcontext owner, bool may_wait,
                                  unsigned flags = 0);

  /// Adds memory that the map does not own. Returns false if the memory overlaps an allocation.
  [[nodiscard]] bool adopt(void* address, std::size_t bytes, memory_kind kind,
                           memory_account& account, CUcontext owner, unsigned flags = 0);

  /// Frees the allocation of `kind` that starts at `address`. Returns false if there is no such
  /// allocation or if an asynchronous free of the allocation is pending.
  bool free(CUdeviceptr address, memory_kind kind);

  /// Starts an asynchronous free of the device memory that starts at `address`. The caller must
  /// later call finish_free() or cancel_free(). Returns false if there is no such allocation or if
  /// an asynchronous free of the allocation is already pending.
  [[nodiscard]] bool begin_free(CUdeviceptr address);
  void finish_free(CUdeviceptr address) noexcept;
  /// Undoes begin_free().
  void cancel_free(CUdeviceptr address) noexcept;

  /// Frees all allocations of a context.
  void free_all(CUcontext owner);

  /// Returns the allocation that contains `address`.
  [[nodiscard]] std::optional<allocation> find(CUdeviceptr address) const;
  /// Whether [address, address + bytes) is inside one allocation that has no pending free.
  [[nodiscard]] bool covers(CUdeviceptr address, std::size_t bytes) const;
  /// Whether a word of `bytes` bytes is at `address`: covered, and at a multiple of its size.
  [[nodiscard]] bool has_word(CUdeviceptr address, std::size_t bytes) const {
    return address % bytes == 0 && covers(address, bytes);
  }

  /// The number of allocations. Does not count globals, because applications cannot free them.
  [[nodiscard]] std::size_t live() const;

 private:
  using map = std::map<CUdeviceptr, allocation>;
  [[nodiscard]] map::const_iterator holder(CUdeviceptr address) const;
  // Call it with mutex_ held. Throws std::bad_alloc.
  void insert(CUdeviceptr address, std::size_t bytes, memory_kind kind, memory_account& account,
              CUcontext owner, unsigned flags);
  void destroy(allocation const& ended) noexcept;

  std::shared_mutex mutable mutex_;
  map map_;                    // guarded by mutex_
  std::uint64_t next_id_ = 1;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
