#pragma once
// Every allocation of the driver, by address. All devices and the host share one address space.
// Each allocation is a block of ordinary heap memory, so address checkers notice kernels that
// overrun it.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace flotilla::cpu_driver {

class memory_account;

enum class memory_kind : std::uint8_t {
  device,      // cuMemAlloc and cuMemAllocAsync
  host,        // pinned: cuMemHostAlloc
  registered,  // the application's own memory, pinned by cuMemHostRegister
  global       // a module's variable, which is part of its image
};

struct allocation {
  CUdeviceptr address;
  std::size_t bytes;
  memory_kind kind;
  memory_account* account;  // of the device that it belongs to
  CUcontext owner;
  std::uint64_t id;
  bool ending;     // cuMemFreeAsync was called for it
  unsigned flags;  // of host memory
};

class memory_map {
 public:
  /// The map of this process. Never destroyed, as handle tables are not.
  [[nodiscard]] static memory_map& of_process();

  /// Allocates memory. CUDA_ERROR_OUT_OF_MEMORY if the device's capacity does not allow it; with
  /// `may_wait`, first waits for frees that are pending in streams of the device. Host memory does
  /// not count against a capacity.
  [[nodiscard]] CUresult allocate(CUdeviceptr& address, std::size_t bytes, memory_kind kind,
                                  memory_account& account, CUcontext owner, bool may_wait,
                                  unsigned flags = 0);

  /// Adds memory that the map does not own. False if it overlaps an allocation.
  [[nodiscard]] bool adopt(void* address, std::size_t bytes, memory_kind kind,
                           memory_account& account, CUcontext owner, unsigned flags = 0);

  /// Frees the allocation of `kind` that starts at `address`. False if there is none.
  bool free(CUdeviceptr address, memory_kind kind);

  /// Marks device memory as ending; finish_free() must follow. False if there is none (any more).
  [[nodiscard]] bool begin_free(CUdeviceptr address);
  void finish_free(CUdeviceptr address) noexcept;
  /// Undoes begin_free().
  void cancel_free(CUdeviceptr address) noexcept;

  /// Frees every allocation of a context.
  void free_all(CUcontext owner);

  /// The allocation that holds `address`.
  [[nodiscard]] std::optional<allocation> find(CUdeviceptr address) const;
  /// Whether [address, address + bytes) lies within one allocation that is not ending.
  [[nodiscard]] bool covers(CUdeviceptr address, std::size_t bytes) const;

  /// The number of allocations, without globals, which nobody frees.
  [[nodiscard]] std::size_t live() const;

 private:
  using map = std::map<CUdeviceptr, allocation>;
  [[nodiscard]] map::const_iterator holder(CUdeviceptr address) const;
  void insert(allocation made);  // with mutex_ held
  void destroy(allocation const& ended) noexcept;

  std::shared_mutex mutable mutex_;
  map map_;                    // guarded by mutex_
  std::uint64_t next_id_ = 1;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
