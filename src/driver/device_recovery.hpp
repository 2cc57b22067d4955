// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a driver offers if its devices can be used again after a fault.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace flotilla::driver {

/// A driver with isolated devices runs each of them in a worker process. A fault ends this process
/// only. `replace` starts a successor, or takes a spare, and makes the objects of the device again
/// in it. Threads: any.
class device_recovery {
 public:
  device_recovery() = default;
  device_recovery(device_recovery const&) = delete;
  device_recovery& operator=(device_recovery const&) = delete;

  /// Returns whether the worker of the device has faulted or ended. From then on, every call for
  /// the device returns the same sticky status until `replace`. Such a call has no effect on the
  /// device. If the worker ends before it answers a call that puts work into a stream, the work may
  /// run, and the call returns CUDA_SUCCESS, because the work of the stream is lost only later.
  /// Cost: one load.
  [[nodiscard]] virtual bool is_lost(int ordinal) const noexcept = 0;
  /// Returns the sticky status that every call for a lost device returns, or CUDA_SUCCESS.
  [[nodiscard]] virtual CUresult status(int ordinal) const noexcept = 0;
  /// Returns why the device was lost, for messages: for example "its worker process was killed by
  /// signal 9". Empty if it is not lost.
  [[nodiscard]] virtual std::string reason(int ordinal) const = 0;
  /// Ends the worker, for example because a kernel hangs. The device is then lost.
  virtual void kill(int ordinal) noexcept = 0;
  /// Ends the process of the worker as a crash would: the device is lost at once, or as
  /// soon as somebody notices that the process has ended. For fault injection.
  virtual void crash(int ordinal) noexcept = 0;
  /// Gives a lost device a new worker. The caller must hold the lease of the device. Blocks until
  /// the old process is gone, so that nothing of it can still write to memory, and until the
  /// successor has all objects of the device.
  ///
  /// Afterwards all handles (contexts, streams, events, graphs, kernels, memory) are valid as
  /// before. Device memory and pinned host memory have kept their contents. All streams are empty:
  /// work that had not ended is gone, and the caller must submit it again. Recorded events count as
  /// complete.
  /// @return false  No successor could be started: the device stays lost, and `reason` says why.
  [[nodiscard]] virtual bool replace(int ordinal) noexcept = 0;

  /// Returns whether kernels on the device can access the memory at `address`.
  [[nodiscard]] virtual bool can_access(int ordinal, std::uintptr_t address) const = 0;

  /// Returns memory that is all zeros and that cuMemHostRegister accepts. An isolated device cannot
  /// use other memory of this process, because its worker has no access to it.
  /// @return null  There is no memory.
  [[nodiscard]] virtual void* allocate_shared(std::size_t bytes) = 0;
  /// Frees what `allocate_shared` has returned. It must not be registered any more.
  virtual void free_shared(void* memory) noexcept = 0;
  /// Ends the worker for good, and blocks until nothing of it can still write to memory. The
  /// default does not block, and is for tests.
  virtual void end(int ordinal) noexcept {
    if (!is_lost(ordinal)) { kill(ordinal); }
  }

 protected:
  ~device_recovery() = default;
};

}  // namespace flotilla::driver
