#pragma once
/// The settings of a device's context: its source, flags, cache preference and limits.
///
/// Precedence: code, then the environment (`FLOTILLA_SETTINGS`), then a TOML file (its path is in
/// `FLOTILLA_CONFIG`), then the driver's default. At each level, a setting for one device overrides
/// the setting for all devices. Settings are applied when the context is made, and read back then:
/// `runtime::effective_settings()` returns the actual values, `runtime::report_settings()` the
/// outcome of each request. docs/settings.md lists all settings.

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <flotilla/detail/export.hpp>
#include <flotilla/settings/context_source.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How threads wait for a device. It is the scheduling flag of the device's context, which the
/// driver's own waits follow (cuCtxSynchronize, cuStreamSynchronize; a blocking event needs its own
/// flag as well). All waits of a runtime follow it, and so do idle workers:
/// * `spin`: polls continuously. Lowest latency; uses a whole processor.
/// * `yield`: calls sched_yield between polls. After 2000 polls without progress it also sleeps 50
///   us between polls.
/// * `blocking`: sleeps. If the work is on a stream, until the driver reports its end. Otherwise
///   (the task is not launched yet or is a callable; the wait has a time limit, is for the first of
///   several tasks, or for a completion) it polls after 20, 40, 80, 160, 320 us and then every 500
///   us, counted from the last progress. If all devices block, idle workers leave at once.
/// * `automatic`: as CU_CTX_SCHED_AUTO: yield if there are more active contexts than processors,
///   else spin. The contexts are those of this process's runtimes and `floating_context`s, the
///   processors those that this process may use. On CPU devices waits yield, because these devices
///   compute on the processors.
///
/// A wait for several devices (`wait_idle`, `wait_any`, completions, a task for any device that no
/// device has taken) spins if one of the devices spins, else yields if one of them yields, and
/// sleeps only if all of them block. For `wait_idle` and completions these are the devices that
/// have work. Workers never spin for CPU devices. A worker that waits for busy devices (a full
/// device, tasks with continuations) while no thread waits for it treats automatic as yield.
/// Independent of the policy, a submit that waits for room in a large window sleeps between polls,
/// and a control operation sleeps until it has the lease.
///
/// The granted policy is read back from the context (`runtime::effective_settings`), so each policy
/// but `automatic` needs a flag of the driver.
enum class wait_policy { automatic, spin, yield, blocking };

/// Whether kernels prefer shared memory or L1 cache, which share hardware. A kernel's own
/// preference overrides it.
enum class cache_preference { none, shared, l1, equal };

/// The width of a shared memory bank. On current GPUs it is always four bytes.
enum class bank_size { standard, four, eight };

/// The settings of one device. An empty one is not set. The comment gives the name that text, the
/// environment and the file use.
struct FLOTILLA_EXPORT device_settings {
  std::optional<context_source> context{};          ///< "context": owned, primary, green:N
  std::optional<flotilla::wait_policy> schedule{};  ///< "schedule"
  std::optional<bool> map_host{};                   ///< "map_host"; always on since CUDA 3.2
  /// "lmem_resize_to_max"; always on with current drivers
  std::optional<bool> lmem_resize_to_max{};
  std::optional<bool> coredump{};           ///< "coredump": on an exception of this context
  std::optional<bool> user_coredump{};      ///< "user_coredump": on request; implies `coredump`
  std::optional<bool> sync_memops{};        ///< "sync_memops": memory operations are synchronous
  std::optional<cache_preference> cache{};  ///< "cache"
  std::optional<flotilla::bank_size> bank_size{};  ///< "bank_size": default, 4, 8
  std::optional<std::size_t> stack_bytes{};        ///< "limits.stack": bytes per GPU thread
  std::optional<std::size_t> printf_fifo_bytes{};  ///< "limits.printf_fifo": bytes
  /// "limits.malloc_heap": bytes for malloc in kernels
  std::optional<std::size_t> malloc_heap_bytes{};
  /// "limits.sync_depth": grids; current drivers do not support it
  std::optional<std::size_t> sync_depth{};
  /// "limits.pending_launches": a count, for launches from kernels
  std::optional<std::size_t> pending_launches{};
  /// "limits.l2_fetch_granularity": bytes, 0 to 128
  std::optional<std::size_t> l2_fetch_granularity{};
  std::optional<std::size_t> persisting_l2_bytes{};  ///< "limits.persisting_l2": bytes
  /// "exec_affinity": how many multiprocessors an owned context may use; requires MPS
  std::optional<unsigned> exec_affinity{};
  std::optional<unsigned> lanes{};      ///< "lanes": streams for launches, 1 to 32
  std::optional<std::size_t> window{};  ///< "window": tasks that have not ended, 64 to 65000

  bool operator==(device_settings const&) const = default;

  /// These settings, completed by those of `lower` that are not set here.
  [[nodiscard]] device_settings over(device_settings const& lower) const;
  /// Sets one setting by name. `value` is a word ("spin", "true"), a count, or a size in bytes with
  /// an optional unit ("65536", "64KiB", "16MiB", "1GiB").
  /// @throws unknown_setting  naming the key or the value. Nothing was set.
  void set(std::string_view key, std::string_view value);
  /// The value of one setting as text that `set` reads; empty: it is not set.
  /// @throws unknown_setting
  [[nodiscard]] std::string text(std::string_view key) const;
  /// All names, in the order above.
  [[nodiscard]] static std::span<std::string_view const> names() noexcept;
};

struct FLOTILLA_EXPORT settings {
  device_settings all{};  ///< for every device
  /// By index in `runtime::devices()`; overrides `all`.
  std::map<unsigned, device_settings> devices{};

  /// Sets one setting by name: `key` is a name, or "N:" and a name for device N.
  /// @throws unknown_setting  naming the key or the value. Nothing was set.
  void set(std::string_view key, std::string_view value);

  /// Reads "key=value" pairs separated by commas, as in
  /// `FLOTILLA_SETTINGS="schedule=spin,1:cache=l1"`.
  /// @throws unknown_setting  naming the pair that is invalid or contradicts an earlier one.
  [[nodiscard]] static settings parse(std::string_view text);

  /// Reads a TOML file: names are keys, `[limits]` is a table, `[devices.N]` has the settings of
  /// device N.
  /// @throws unknown_setting  naming file, line and key; also if the file cannot be read.
  [[nodiscard]] static settings read(std::filesystem::path const& file);

  /// Reads the environment: FLOTILLA_SETTINGS, completed by the file that FLOTILLA_CONFIG names.
  /// @throws unknown_setting  naming which of the two is wrong, and where.
  [[nodiscard]] static settings from_environment();

  /// The settings of device `ordinal`: its own, completed by those of all devices.
  [[nodiscard]] device_settings of(unsigned ordinal) const;
  /// These settings, completed for each device by those of `lower`.
  [[nodiscard]] settings over(settings const& lower) const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(wait_policy value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(cache_preference value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(bank_size value);

}  // namespace v0_1
}  // namespace flotilla
