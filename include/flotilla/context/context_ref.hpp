#pragma once
/// A context by its handle, and everything a driver says of it and lets one change, typed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <flotilla/error.hpp>
#include <flotilla/export.hpp>
#include <flotilla/settings.hpp>

struct CUctx_st;

namespace flotilla {

namespace driver {
struct table;
}

/// What is asked would take a context from under somebody who uses it, or break a scope that is open. Nothing was done.
class FLOTILLA_EXPORT context_in_use : public error {
 public:
  using error::error;
  ~context_in_use() override;
};

/// The flags of a context.
struct context_flags {
  flotilla::schedule schedule = flotilla::schedule::automatic;
  bool map_host = false;            ///< settled at creation; no effect since CUDA 11: always mapped
  bool lmem_resize_to_max = false;  ///< no effect on today's drivers: local memory is always kept
  bool coredump = false;
  bool user_coredump = false;       ///< implies `coredump`
  bool sync_memops = false;
  bool operator==(context_flags const&) const = default;
};

/// The limits of a context. The last three can only be asked for.
enum class context_limit {
  stack,                 ///< bytes a GPU thread
  printf_fifo,           ///< bytes
  malloc_heap,           ///< bytes; settled once a kernel that uses malloc was launched
  sync_depth,            ///< grids; not on today's drivers
  pending_launches,      ///< a count, of the device runtime
  l2_fetch_granularity,  ///< bytes, 0 to 128: a hint
  persisting_l2,         ///< bytes
  shared_memory,         ///< bytes a kernel of a graphics context may have
  graphics,              ///< 1 where the context shares its GPU with graphics
  graphics_fallback,     ///< whether such a context may fall back where shared memory does not suffice
};

/// Priorities of streams: the lower the number, the more urgent.
struct priority_range {
  int least = 0;
  int greatest = 0;
};

/// Memory of a device as one of its contexts sees it, in bytes.
struct device_memory {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// Names a context; owns nothing. Whatever it asks or sets, it makes the context current for that call alone: the caller's
/// stack is as before.
///
/// Threads   any; two threads may ask at once, but for a green context, which is one thread's at a time: then
///           context_in_use is thrown.
/// Errors    driver_error, naming call and context, for whatever the driver refuses; not_supported where this driver
///           has no such call.
/// Lifetime  a reference says nothing of it: the context must live. floating_context keeps one alive.
/// Cost      a push, the driver's call, a pop: some 100 ns.
class FLOTILLA_EXPORT context_ref {
 public:
  [[nodiscard]] CUctx_st* handle() const noexcept { return handle_; }
  /// The driver's ordinal of its device.
  [[nodiscard]] int driver_ordinal() const;
  [[nodiscard]] unsigned api_version() const;
  /// Unique while the process lives, also where handles are used again.
  [[nodiscard]] unsigned long long id() const;

  [[nodiscard]] context_flags flags() const;
  /// Changes the flags of a context that exists. @throws invalid_argument  They contradict each other.
  void set_flags(context_flags const& flags) const;
  [[nodiscard]] cache_preference cache() const;
  void set_cache(cache_preference preference) const;
  [[nodiscard]] flotilla::bank_size bank_size() const;
  /// @return what the device has afterwards: four, on GPUs of today.
  flotilla::bank_size set_bank_size(flotilla::bank_size size) const;
  /// Empty: this driver has no such limit.
  [[nodiscard]] std::optional<std::size_t> limit(context_limit which) const;
  /// @return what was granted, after the driver's rounding.
  std::size_t set_limit(context_limit which, std::size_t value) const;
  [[nodiscard]] priority_range stream_priorities() const;
  [[nodiscard]] device_memory memory() const;
  /// How many multiprocessors it may use under MPS; empty: it is not limited so.
  [[nodiscard]] std::optional<unsigned> exec_affinity() const;
  /// How many multiprocessors it has: a green context's own; empty where the driver cannot tell.
  [[nodiscard]] std::optional<unsigned> multiprocessors() const;

  /// Waits for all work of this context. Blocks as its schedule flag says.
  void synchronize() const;
  /// Gives the lines of L2 that accesses have set aside back to all. Affects every context of the GPU.
  void reset_persisting_l2() const;
  /// Lets kernels and copies of this context use the memory of `other`, of another device.
  void enable_peer(context_ref const& other) const;
  void disable_peer(context_ref const& other) const;

  friend bool operator==(context_ref const& a, context_ref const& b) noexcept {
    return a.handle_ == b.handle_;
  }

  /// For those who extend flotilla.
  context_ref(std::shared_ptr<driver::table const> api, CUctx_st* handle) noexcept
      : api_{std::move(api)}, handle_{handle} {}
  [[nodiscard]] std::shared_ptr<driver::table const> const& api() const noexcept { return api_; }

 private:
  std::shared_ptr<driver::table const> api_;
  CUctx_st* handle_;
};

/// A usage count of a context, for libraries that share one: taken here, given back at the end. The context may be
/// destroyed by its owner all the same: then nothing is left to give back.
/// Threads: any. The object must end before a context that is not flotilla's.
class FLOTILLA_EXPORT context_attachment {
 public:
  /// @throws driver_error
  explicit context_attachment(context_ref of);
  ~context_attachment();
  context_attachment(context_attachment&&) = delete;

 private:
  context_ref of_;
  std::uint64_t serial_;  // of one of flotilla's own, else 0
};

}  // namespace flotilla
