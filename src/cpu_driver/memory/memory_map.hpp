#pragma once
// Every address the driver has given out. All devices and the host share one address space; the
// memory is ordinary heap memory, one block an allocation, so that address checkers see kernels
// overrun it.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace flotilla::cpu_driver {

class device;

enum class memory_kind : std::uint8_t {
  device,      // cuMemAlloc and cuMemAllocAsync
  host,        // pinned: cuMemHostAlloc
  registered,  // the application's own memory, pinned by cuMemHostRegister
  global       // a module's variable: storage of the image
};

struct allocation {
  CUdeviceptr address;
  std::size_t bytes;
  memory_kind kind;
  device* home;
  CUcontext owner;
  std::uint64_t id;
  bool ending;     // given to cuMemFreeAsync
  unsigned flags;  // host memory's: what was asked for, and mapped
};

class memory_map {
 public:
  /// New memory. CUDA_ERROR_OUT_OF_MEMORY when the device's capacity does not allow it; `patient`
  /// then first waits for frees that are pending in streams of the device. Host memory has no
  /// capacity.
  [[nodiscard]] CUresult allocate(CUdeviceptr& address, std::size_t bytes, memory_kind kind,
                                  device& home, CUcontext owner, bool patient, unsigned flags = 0);

  /// Takes in memory that somebody else owns. False where it overlaps what is there.
  [[nodiscard]] bool adopt(void* address, std::size_t bytes, memory_kind kind, device& home,
                           CUcontext owner, unsigned flags = 0);

  /// Frees the allocation that starts at `address` and is of `kind`. False when there is none.
  bool free(CUdeviceptr address, memory_kind kind);

  /// Marks device memory as ending; finish_free() must follow. False when there is none, or not any
  /// more.
  [[nodiscard]] bool begin_free(CUdeviceptr address);
  void finish_free(CUdeviceptr address) noexcept;
  /// Takes begin_free() back.
  void cancel_free(CUdeviceptr address) noexcept;

  /// Frees what a context still has.
  void free_all(CUcontext owner);

  /// The allocation that holds `address`.
  [[nodiscard]] std::optional<allocation> find(CUdeviceptr address) const;
  /// Whether [address, address + bytes) lies within one allocation that is not ending.
  [[nodiscard]] bool covers(CUdeviceptr address, std::size_t bytes) const;

  /// Allocations that somebody has to free: without globals.
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
