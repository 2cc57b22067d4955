#pragma once
/// A context by its handle: typed access to everything that the driver reports or changes.

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

/// The operation would take a context away from code that uses it, or break an open scope. Nothing
/// was changed.
class FLOTILLA_EXPORT context_in_use : public error {
 public:
  using error::error;
  ~context_in_use() override;
};

/// The flags of a context.
struct context_flags {
  flotilla::wait_policy schedule = flotilla::wait_policy::automatic;
  bool map_host = false;  ///< fixed at creation; no effect since CUDA 11, which always maps
  bool lmem_resize_to_max = false;  ///< no effect on current drivers: they always keep local memory
  bool coredump = false;
  bool user_coredump = false;  ///< implies `coredump`
  bool sync_memops = false;
  bool operator==(context_flags const&) const = default;
};

/// The limits of a context. The last three are read-only.
enum class context_limit {
  stack,                 ///< bytes per GPU thread
  printf_fifo,           ///< bytes
  malloc_heap,           ///< bytes; fixed after the first launch of a kernel that uses malloc
  sync_depth,            ///< grids; current drivers do not support it
  pending_launches,      ///< a count; for launches from kernels
  l2_fetch_granularity,  ///< bytes, 0 to 128: a hint
  persisting_l2,         ///< bytes
  shared_memory,         ///< bytes per kernel in a graphics context
  graphics,              ///< 1 if the context shares its GPU with graphics
  graphics_fallback,     ///< whether such a context falls back if shared memory is insufficient
};

/// Priorities of streams. A lower number is more urgent.
struct priority_range {
  int least = 0;
  int greatest = 0;
};

/// Refers to a context without owning it. Each function makes the context current only for the
/// duration of its driver call, and leaves the caller's stack unchanged.
///
/// Threads   any, and several at once. A green context can be current on one thread at a time only:
///           a second thread gets context_in_use.
/// Errors    driver_error, which names call and context, if the driver refuses; its status is
///           not_supported if the driver lacks the call.
/// Lifetime  the context must outlive the reference; floating_context keeps a context alive.
/// Cost      a push, the driver call and a pop: about 100 ns.
class FLOTILLA_EXPORT context_ref {
 public:
  [[nodiscard]] CUctx_st* handle() const noexcept { return handle_; }
  /// The driver's ordinal of the context's device.
  [[nodiscard]] int driver_ordinal() const;
  [[nodiscard]] unsigned api_version() const;
  /// Unique in the process. Handles may be reused, ids are not.
  [[nodiscard]] unsigned long long id() const;

  [[nodiscard]] context_flags flags() const;
  /// Changes the flags. @throws invalid_argument  The flags contradict each other.
  void set_flags(context_flags const& flags) const;
  [[nodiscard]] cache_preference cache() const;
  void set_cache(cache_preference preference) const;
  [[nodiscard]] flotilla::bank_size bank_size() const;
  /// @return the bank size afterwards: `four` on current GPUs.
  flotilla::bank_size set_bank_size(flotilla::bank_size size) const;
  /// Empty: this driver does not support the limit.
  [[nodiscard]] std::optional<std::size_t> limit(context_limit which) const;
  /// @return the value that the driver granted; it may round.
  std::size_t set_limit(context_limit which, std::size_t value) const;
  [[nodiscard]] priority_range stream_priorities() const;
  /// The memory of the context's device.
  [[nodiscard]] memory_info memory() const;
  /// The number of multiprocessors it may use under MPS; empty: it has no such limit.
  [[nodiscard]] std::optional<unsigned> exec_affinity() const;
  /// The number of multiprocessors it has: of a green context, its own part. Empty: the driver does
  /// not know.
  [[nodiscard]] std::optional<unsigned> multiprocessors() const;

  /// Waits for all work of this context, in the way that its schedule flag selects.
  void synchronize() const;
  /// Resets all persisting lines of the L2 cache to normal. Affects every context of the GPU.
  void reset_persisting_l2() const;
  /// Lets kernels and copies of this context use the memory of `other`, a context of another
  /// device.
  void enable_peer(context_ref const& other) const;
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

/// One usage count of a context (cuCtxAttach), for libraries that share a context. The destructor
/// detaches. The owner may destroy the context meanwhile: then the destructor does nothing.
/// Threads: any. If flotilla did not create the context, it must outlive this object.
class FLOTILLA_EXPORT context_attachment {
 public:
  /// @throws driver_error
  explicit context_attachment(context_ref context);
  ~context_attachment();
  context_attachment(context_attachment&&) = delete;

 private:
  context_ref context_;
  std::uint64_t serial_;  // 0: flotilla did not create the context
};

}  // namespace v0_1
}  // namespace flotilla
