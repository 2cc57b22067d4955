// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// References to contexts, with typed functions for the properties of a context.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/memory_info.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/settings/settings.hpp>

struct CUctx_st;

namespace flotilla::driver {
struct table;
}

namespace flotilla {
inline namespace v0_1 {

/// The operation was refused because other code uses the context, or because the context belongs to
/// an open scope. The failed call has changed nothing.
class FLOTILLA_EXPORT context_in_use : public error {
 public:
  using error::error;
  ~context_in_use() override;
};

/// The flags of a context.
struct context_flags {
  flotilla::wait_policy schedule = flotilla::wait_policy::automatic;
  bool map_host = false;            ///< set at creation only; no effect since CUDA 11: always on
  bool lmem_resize_to_max = false;  ///< no effect on current drivers: always on
  bool coredump = false;
  bool user_coredump = false;  ///< implies `coredump`
  bool sync_memops = false;
  bool operator==(context_flags const&) const = default;
};

/// The limits of a context. The last three limits are read-only.
enum class context_limit {
  stack,                 ///< bytes per GPU thread
  printf_fifo,           ///< bytes
  malloc_heap,           ///< bytes; fixed after the first launch of a kernel that uses malloc
  sync_depth,            ///< nesting depth of grids; current drivers do not support this limit
  pending_launches,      ///< maximum number of pending launches from kernels
  l2_fetch_granularity,  ///< bytes, 0 to 128; a hint
  persisting_l2,         ///< bytes
  shared_memory,         ///< CU_LIMIT_SHMEM_SIZE: bytes per kernel in a CUDA-in-graphics context
  graphics,              ///< CU_LIMIT_CIG_ENABLED: 1 if this is a CUDA-in-graphics context
  graphics_fallback,     ///< CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED
};

/// The range of stream priorities. A lower number is more urgent.
struct priority_range {
  int least = 0;
  int greatest = 0;
};

/// Refers to a context without owning it. Each function makes the context current during its driver
/// call and leaves the caller's context stack unchanged.
///
/// Threads   Several threads may use the same context at the same time. But a green context can be
///           current on only one thread at a time. If it is current on another thread, a function
///           throws context_in_use.
/// Errors    If the driver refuses a call, the function throws driver_error, which names the call
///           and the context. If the driver does not have the call, the status of this driver_error
///           is not_supported.
/// Lifetime  The context must outlive the reference. A floating_context keeps a context alive.
/// Cost      The push and the pop add about 100 ns to the driver call.
class FLOTILLA_EXPORT context_ref {
 public:
  [[nodiscard]] CUctx_st* handle() const noexcept { return handle_; }
  /// Returns the driver's ordinal of the device to which the context belongs.
  [[nodiscard]] int driver_ordinal() const;
  [[nodiscard]] unsigned api_version() const;
  /// Returns a number that is unique in this process. A new context may get the handle of a
  /// destroyed context, but never its id.
  [[nodiscard]] unsigned long long id() const;

  [[nodiscard]] context_flags flags() const;
  /// Changes the flags.
  /// @throws invalid_argument  The flags contradict each other.
  void set_flags(context_flags const& flags) const;
  [[nodiscard]] cache_preference cache() const;
  void set_cache(cache_preference preference) const;
  [[nodiscard]] flotilla::bank_size bank_size() const;
  /// @return The bank size after the call. Current GPUs always have `four`.
  flotilla::bank_size set_bank_size(flotilla::bank_size size) const;
  /// Returns the value of a limit, or empty if the driver does not support the limit.
  [[nodiscard]] std::optional<std::size_t> limit(context_limit which) const;
  /// @return The value that the driver granted. It can differ from `value` because drivers round.
  std::size_t set_limit(context_limit which, std::size_t value) const;
  [[nodiscard]] priority_range stream_priorities() const;
  /// Returns the free and total memory of the device to which the context belongs.
  [[nodiscard]] memory_info memory() const;
  /// Returns the maximum number of multiprocessors that MPS allows for the context, or empty if
  /// there is no such limit.
  [[nodiscard]] std::optional<unsigned> exec_affinity() const;
  /// Returns the number of multiprocessors of the context, or empty if the driver does not know the
  /// number. For a green context, this is the number of multiprocessors in its part of the device.
  [[nodiscard]] std::optional<unsigned> multiprocessors() const;

  /// Waits until all work in this context has completed. The context's scheduling flag determines
  /// how the thread waits.
  void synchronize() const;
  /// Resets all persisting lines of the L2 cache to normal. This affects every context of the GPU.
  void reset_persisting_l2() const;
  /// Allows kernels in this context to access the memory of `other`, a context on another device:
  /// the memory that was allocated in `other` (cuMemAlloc, cudaMalloc), including the variables of
  /// its modules, and the memory of the other device's current memory pool (cuMemAllocAsync,
  /// cudaMallocAsync), which includes every device_buffer. A pool has no context, so all contexts
  /// of this context's device get access to it. Other pools are not affected. Copies need no
  /// access, but without access they go through host memory. A runtime calls the same driver
  /// functions for its own contexts (see flotilla/device/peer_access.hpp).
  /// @throws driver_error  `peer_access_already_enabled`: the access of this context was already
  ///                       enabled. The call still enables the access to the pool.
  ///                       `peer_access_unsupported`: the devices cannot access each other.
  void enable_peer(context_ref const& other) const;
  /// Ends the access of this context to the memory that was allocated in `other`. The access to the
  /// memory pool stays, because other contexts of this device may use it.
  /// @throws driver_error  `peer_access_not_enabled`: there is no such access.
  void disable_peer(context_ref const& other) const;

  friend bool operator==(context_ref const& a, context_ref const& b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  friend struct detail::access;
  context_ref(std::shared_ptr<driver::table const> api, CUctx_st* handle) noexcept
      : api_{std::move(api)}, handle_{handle} {}

  std::shared_ptr<driver::table const> api_;
  CUctx_st* handle_;
};

/// The constructor increments the usage count of a context (cuCtxAttach), and the destructor
/// decrements this count. Libraries use the count to share a context. A context that flotilla
/// created may be destroyed before this object. In that case the destructor does nothing. Any other
/// context must outlive this object.
/// Threads: any.
class FLOTILLA_EXPORT context_attachment {
 public:
  /// @throws driver_error
  explicit context_attachment(context_ref context);
  ~context_attachment();
  context_attachment(context_attachment&&) = delete;

 private:
  context_ref context_;
  std::uint64_t serial_;  // registry::serial of the context; 0 if flotilla did not create it
};

}  // namespace v0_1
}  // namespace flotilla
