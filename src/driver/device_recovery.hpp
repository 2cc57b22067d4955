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
  /// A user of a device: the context through which a runtime uses it. Several runtimes may use a
  /// device. If it was lost and has another worker, the work of all of them is gone. So the device
  /// stays lost for each user until this user has called `replace`, too.
  struct user {
    /// Without a context: the device itself, or all its users.
    user(int device, CUcontext through = nullptr) noexcept : ordinal(device), context(through) {}
    int ordinal;
    CUcontext context;
  };

  device_recovery() = default;
  device_recovery(device_recovery const&) = delete;
  device_recovery& operator=(device_recovery const&) = delete;

  /// Returns whether the worker of the device has faulted or ended. From then on, every call for
  /// the device returns the same sticky status until `replace`. Such a call has no effect on the
  /// device. If the worker ends before it answers a call that puts work into a stream, the work may
  /// run, and the call returns CUDA_SUCCESS, because the work of the stream is lost only later.
  /// Cost: one load.
  [[nodiscard]] virtual bool is_lost(user const& who) const noexcept = 0;
  /// Returns the sticky status that every call for a lost device returns, or CUDA_SUCCESS.
  [[nodiscard]] virtual CUresult status(user const& who) const noexcept = 0;
  /// Returns why the device was lost, for messages: for example "its worker process was killed by
  /// signal 9". Empty if it is not lost.
  [[nodiscard]] virtual std::string reason(user const& who) const = 0;
  /// Ends the worker, for example because a kernel hangs. The device is then lost. Does nothing if
  /// it is lost for this user, because the worker is that of the others then.
  virtual void kill(user const& who) noexcept = 0;
  /// Ends the process of the worker as a crash would: the device is lost at once, or as
  /// soon as somebody notices that the process has ended. For fault injection.
  virtual void crash(user const& who) noexcept = 0;
  /// Gives a lost device a new worker, unless another user has done so. The caller must hold the
  /// lease of the device. Blocks until the old process is gone, so that nothing of it can still
  /// write to memory, and until the successor has all objects of the device. The memory of the
  /// old process may come back late, so a start that fails is tried again, for about 2 s. A process
  /// that does not answer within 30 s is given up.
  ///
  /// Afterwards all handles (contexts, streams, events, graphs, kernels, memory) are valid as
  /// before. Device memory and pinned host memory have kept their contents. All streams are empty:
  /// work that had not ended is gone, and the caller must submit it again. Recorded events count as
  /// complete.
  /// @return false  No successor could be started: the device stays lost, and `reason` says why.
  [[nodiscard]] virtual bool replace(user const& who) noexcept = 0;

  /// Returns whether kernels on the device can access the memory at `address`.
  [[nodiscard]] virtual bool can_access(int ordinal, std::uintptr_t address) const = 0;

  /// Returns memory that is all zeros and that cuMemHostRegister accepts. An isolated device cannot
  /// use other memory of this process, because its worker has no access to it.
  /// @return null  There is no memory.
  [[nodiscard]] virtual void* allocate_shared(std::size_t bytes) = 0;
  /// Frees what `allocate_shared` has returned. It must not be registered any more.
  virtual void free_shared(void* memory) noexcept = 0;
  /// Ends the worker that this user knows for good, and blocks until nothing of it can still write
  /// to memory. The default does not block, and is for tests.
  virtual void end(user const& who) noexcept {
    if (!is_lost(who)) { kill(who); }
  }

 protected:
  ~device_recovery() = default;
};

}  // namespace flotilla::driver
