#pragma once
/// How a device's context is set up: where it comes from, flags, cache preference, limits.
///
/// Precedence: what is set in code, over the environment (`FLOTILLA_SETTINGS`), over a TOML file (its path in
/// `FLOTILLA_CONFIG`), over the driver's default; at each of them what is set for one device, over what
/// is set for all. Set when the context is made, read back then: `runtime::effective_settings()` says what was
/// granted, `runtime::report_settings()` what became of each request. docs/settings.md lists them.

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <flotilla/context_source.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

/// How threads wait for a device. It is the scheduling flag of the device's context, which the driver's own waits
/// follow (cuCtxSynchronize, cuStreamSynchronize; an event that blocks has a flag of its own besides). Everything in a
/// runtime that waits does the same, and so does every worker that looks out for work:
/// * `spin`: looks again and again and keeps its processor. Seen soonest; takes all of a processor.
/// * `yield`: offers its processor to others between two looks (sched_yield); after 2000 looks at which nothing had
///   moved it sleeps 50 us in between.
/// * `blocking`: sleeps. Until the driver says that the work is done, where the work is on a stream; else (not launched
///   yet, a callable, a wait with a time limit, for the first of several, for a completion) it looks after 20, 40, 80,
///   160, 320 and then every 500 us since something last moved. No worker lingers where all devices block.
/// * `automatic`: the rule of CU_CTX_SCHED_AUTO: yield where there are more active contexts than processors, else spin.
///   Contexts are this process's as flotilla knows them, of runtimes and `floating_context`s; processors those that
///   this process may use. On CPU devices waits yield: these compute on the processors.
///
/// What waits for several devices (`wait_idle`, `wait_any`, completions, a task for any device that none has taken)
/// spins where any of them spins, else yields where any yields, and sleeps only where all of them block. For `wait_idle`
/// and completions the devices are those that have work. Workers never spin for CPU devices, and where nobody waits for
/// them (a full device, tasks with continuations) they take automatic for yield. Whatever the schedule, a submit that
/// waits for room in a large window sleeps between two looks, and a control operation until it has the lease.
enum class schedule { automatic, spin, yield, blocking };

/// Where shared memory and L1 cache share hardware, which one kernels prefer. A kernel's own wins.
enum class cache_preference { none, shared, l1, equal };

/// The width of a bank of shared memory. GPUs of today have banks of four bytes, whatever is asked for.
enum class bank_size { standard, four, eight };

/// The settings of one device; what is empty is not set. Each has a name, as text, the environment and the
/// file have it.
struct FLOTILLA_EXPORT device_settings {
  std::optional<context_source> context{};           ///< "context": owned, primary, green:N
  std::optional<flotilla::schedule> schedule{};      ///< "schedule"
  std::optional<bool> map_host{};                    ///< "map_host"; always so since CUDA 3.2
  std::optional<bool> lmem_resize_to_max{};          ///< "lmem_resize_to_max"; always so on today's drivers
  std::optional<bool> coredump{};                    ///< "coredump": on an exception of this context
  std::optional<bool> user_coredump{};               ///< "user_coredump": on request; implies `coredump`
  std::optional<bool> sync_memops{};                 ///< "sync_memops": memory operations are synchronous
  std::optional<cache_preference> cache{};           ///< "cache"
  std::optional<flotilla::bank_size> bank_size{};    ///< "bank_size": default, 4, 8
  std::optional<std::size_t> stack_bytes{};          ///< "limits.stack": bytes a GPU thread
  std::optional<std::size_t> printf_fifo_bytes{};    ///< "limits.printf_fifo": bytes
  std::optional<std::size_t> malloc_heap_bytes{};    ///< "limits.malloc_heap": bytes for malloc in kernels
  std::optional<std::size_t> sync_depth{};           ///< "limits.sync_depth": grids; gone from today's drivers
  std::optional<std::size_t> pending_launches{};     ///< "limits.pending_launches": a count, of the device runtime
  std::optional<std::size_t> l2_fetch_granularity{}; ///< "limits.l2_fetch_granularity": bytes, 0 to 128
  std::optional<std::size_t> persisting_l2_bytes{};  ///< "limits.persisting_l2": bytes
  /// "exec_affinity": multiprocessors that an owned context may use under MPS; refused elsewhere.
  std::optional<unsigned> exec_affinity{};
  std::optional<unsigned> lanes{};                   ///< "lanes": streams for launches, 1 to 32
  std::optional<std::size_t> window{};               ///< "window": tasks not ended, 64 to 65000

  bool operator==(device_settings const&) const = default;

  /// These, and where one is not set, that of `lower`.
  [[nodiscard]] device_settings over(device_settings const& lower) const;
  /// Sets one by name. `value` is a word ("spin", "true"), a count, or a size in bytes with an optional
  /// unit ("65536", "64KiB", "16MiB", "1GiB").
  /// @throws unknown_setting  naming the key or the value. Nothing was set.
  void set(std::string_view key, std::string_view value);
  /// The value of one, as `set` reads it; empty where it is not set.
  /// @throws unknown_setting
  [[nodiscard]] std::string text(std::string_view key) const;
  /// The names of all, in the order above.
  [[nodiscard]] static std::span<std::string_view const> names() noexcept;
};

struct FLOTILLA_EXPORT settings {
  device_settings all{};                         ///< for every device
  std::map<unsigned, device_settings> devices{}; ///< by place in `runtime::devices()`; wins over `all`

  /// Sets one by name, as the environment does: `key` is a name, or "N:" and a name for device N.
  /// @throws unknown_setting  naming the key or the value. Nothing was set.
  void set(std::string_view key, std::string_view value);

  /// Reads "key=value" pairs with commas between, as in `FLOTILLA_SETTINGS="schedule=spin,1:cache=l1"`.
  /// @throws unknown_setting  naming the pair, also where it contradicts an earlier one. Nothing was set.
  [[nodiscard]] static settings parse(std::string_view text);

  /// Reads a TOML file: the names as keys, `[limits]` a table, and under `[devices.N]` those of device N.
  /// @throws unknown_setting  naming file, line and key; also when the file cannot be read.
  [[nodiscard]] static settings read(std::filesystem::path const& file);

  /// What this process's environment says: FLOTILLA_SETTINGS over the file that FLOTILLA_CONFIG names.
  /// @throws unknown_setting  naming which of them is wrong, and where.
  [[nodiscard]] static settings from_environment();

  /// What is asked of device `ordinal`: its own where set, else what all get.
  [[nodiscard]] device_settings of(unsigned ordinal) const;
  /// These, and where one is not set for a device, what `lower` says of it.
  [[nodiscard]] settings over(settings const& lower) const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(schedule value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(cache_preference value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(bank_size value);

}  // namespace flotilla
