// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The settings of a device's context: its source, flags, cache preference and limits.
///
/// Settings can be in code, in the environment variable `FLOTILLA_SETTINGS`, and in the TOML file
/// that `FLOTILLA_CONFIG` names. Code overrides the environment variable, and the environment
/// variable overrides the file. In each of these places, a setting for one device overrides the
/// setting for all devices. Without a setting, the driver's default applies.
///
/// The runtime applies the settings when it makes the context, and then reads the values back.
/// `runtime::effective_settings()` returns the actual values. `runtime::report_settings()` returns
/// the outcome of each request. docs/settings.md lists all settings.

#include <chrono>
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

/// How threads wait for a device. The policy sets the scheduling flag of the device's context,
/// which cuCtxSynchronize and cuStreamSynchronize follow. The waits and the idle workers of a
/// runtime follow the policy too:
/// * `spin` polls continuously. It has the lowest latency and occupies one processor.
/// * `yield` calls sched_yield between polls. After 2000 polls without progress it also sleeps 50
///   us between polls.
/// * `blocking` sleeps until the driver reports the end of the work in a stream. This is impossible
///   for a wait that has a time limit, or that is for the first of several tasks, for a callable,
///   for a host task, or for a task that is not launched yet. Such a wait sleeps and polls in turn:
///   it polls 20, 40, 80, 160 and 320 us after the last progress, and then every 500 us.
/// * `automatic` follows the rule of CU_CTX_SCHED_AUTO: yield if there are more active contexts
///   than processors, else spin. It counts the contexts of the runtimes and `floating_context`s in
///   this process, all other active primary contexts, and the processors that this process may use.
///   It cannot count contexts that other code creates with cuCtxCreate, because the driver does not
///   list them. For CPU devices, `automatic` means yield, because these devices need the processors
///   for their kernels.
///
/// Some waits are for several devices: `wait_idle`, `wait_any`, and a wait for a task that any
/// device may take. Such a wait spins if one of the devices has the policy spin. Otherwise it
/// yields if one of them has the policy yield. It sleeps only if all of them have the policy
/// blocking. `wait_idle` considers only devices with open tasks.
///
/// Workers never spin for CPU devices. If all devices have the policy blocking, an idle worker ends
/// at once. A worker that waits for busy devices treats `automatic` as yield: no thread waits for
/// the worker, so it does not have to spin. Two waits do not depend on the policy: `submit` sleeps
/// between polls while it waits for room in a large window, and a control operation sleeps until it
/// has the lease.
///
/// The runtime reads the granted policy back from the flags of the context. Each policy has its own
/// bit in these flags, except `automatic`: it applies if none of the bits is set.
enum class wait_policy { automatic, spin, yield, blocking };

/// Whether kernels prefer shared memory or L1 cache. Both are parts of the same on-chip memory. The
/// preference of a single kernel (program::prefer_cache) overrides this setting.
enum class cache_preference { none, shared, l1, equal };

/// The width of a shared memory bank. On current GPUs the width is always four bytes.
enum class bank_size { standard, four, eight };

/// Where the context of a device lives. With `process` it lives in a worker process, so that a
/// fault of a kernel, an abort or a hang ends this process only. docs/isolation.md has the details.
enum class isolation { none, process };

/// Whether the process that stands by for an isolated device has a context and all objects (warm).
enum class spare { none, warm };

/// The settings of one device. An empty member is not set. The comment of a member begins with the
/// name of the setting in the environment and in the settings file.
struct FLOTILLA_EXPORT device_settings {
  std::optional<context_source> context{};          ///< "context": owned, primary, green:N
  std::optional<flotilla::wait_policy> schedule{};  ///< "schedule"
  std::optional<bool> map_host{};                   ///< "map_host"; always on since CUDA 3.2
  /// "lmem_resize_to_max"; always on with current drivers
  std::optional<bool> lmem_resize_to_max{};
  std::optional<bool> coredump{};       ///< "coredump": dump after an exception in this context
  std::optional<bool> user_coredump{};  ///< "user_coredump": dump on request; implies `coredump`
  std::optional<bool> sync_memops{};    ///< "sync_memops": memory operations are synchronous
  std::optional<cache_preference> cache{};         ///< "cache"
  std::optional<flotilla::bank_size> bank_size{};  ///< "bank_size": default, 4, 8
  std::optional<std::size_t> stack_bytes{};        ///< "limits.stack": bytes per GPU thread
  std::optional<std::size_t> printf_fifo_bytes{};  ///< "limits.printf_fifo": bytes
  /// "limits.malloc_heap": bytes for malloc in kernels
  std::optional<std::size_t> malloc_heap_bytes{};
  /// "limits.sync_depth": nesting depth of grids; current drivers do not support this limit
  std::optional<std::size_t> sync_depth{};
  /// "limits.pending_launches": maximum number of pending launches from kernels
  std::optional<std::size_t> pending_launches{};
  /// "limits.l2_fetch_granularity": bytes, 0 to 128
  std::optional<std::size_t> l2_fetch_granularity{};
  std::optional<std::size_t> persisting_l2_bytes{};  ///< "limits.persisting_l2": bytes
  /// "exec_affinity": maximum number of multiprocessors of an owned context; requires MPS
  std::optional<unsigned> exec_affinity{};
  std::optional<unsigned> lanes{};      ///< "lanes": number of streams for launches, 1 to 32
  std::optional<std::size_t> window{};  ///< "window": maximum number of open tasks, 64 to 65000
  /// "peer_access": whether the runtime gives the device access to the memory of its other devices.
  /// The default is true. A pair of devices that cannot have access is never an error, even if this
  /// setting is true and without best effort: see flotilla/device/peer_access.hpp.
  std::optional<bool> peer_access{};
  /// "device_side_waits": whether tasks of the device may wait for a task of another device in a
  /// kernel of one thread, which is faster than a wait in the stream. The default is true. Set it
  /// to false if blocks of your kernels wait for each other although their launch is not
  /// cooperative: such a launch may need the place of a waiting kernel (docs/settings.md). A
  /// recording over several GPUs needs it.
  std::optional<bool> device_side_waits{};
  /// "numa_placement": whether workers that drive the device, and pinned memory that only this
  /// device uses, prefer the NUMA node of the device. The default is true. A device for which this
  /// is impossible is never an error: the outcome in `settings_report` has the reason. A worker at
  /// a node runs only on those processors of the node that its thread may use anyway, until it ends
  /// or moves. Threads that a callable creates inherit this restriction, as always in Linux.
  /// Threads of the application that wait, pump or submit are never restricted.
  std::optional<bool> numa_placement{};
  /// "isolation": none or process. The default is none. A runtime may have devices of both kinds.
  /// All runtimes of a process that use the device with `process` share its worker process. If the
  /// device is lost, each of them learns of it (docs/faults.md).
  std::optional<flotilla::isolation> isolation{};
  /// "spare": none or warm. The default is none. Has no effect without isolation. A warm spare
  /// occupies the device memory of a second context.
  std::optional<flotilla::spare> spare{};
  /// "restart.intensity": how often an isolated device may be lost in a period (restart_options)
  std::optional<unsigned> restart_intensity{};
  std::optional<unsigned> restart_period_ms{};    ///< "restart.period_ms": 1 to 86400000
  std::optional<unsigned> restart_back_off_ms{};  ///< "restart.back_off_ms": 0 to 86400000
  /// "stuck_after": the time after which launched work that has not ended makes the device stuck
  /// (runtime_options::stuck_after), such as 10s. The default is 0: never.
  std::optional<std::chrono::milliseconds> stuck_after{};

  bool operator==(device_settings const&) const = default;

  /// Returns a copy of these settings in which every empty member has the value from `lower`.
  [[nodiscard]] device_settings over(device_settings const& lower) const;
  /// Sets one setting by name. `value` is a word ("spin", "true"), a count, a size in bytes with an
  /// optional unit ("65536", "64KiB", "16MiB", "1GiB"), or a time with a unit ("500ms", "10s",
  /// "2min").
  /// @throws unknown_setting  The key or the value is invalid. The message names the invalid part.
  ///                          Nothing was set.
  void set(std::string_view key, std::string_view value);
  /// Returns the value of one setting in the text form that `set` accepts, or an empty string if
  /// the setting is not set.
  /// @throws unknown_setting  There is no such setting.
  [[nodiscard]] std::string text(std::string_view key) const;
  /// Returns the names of all settings, in the order of the members.
  [[nodiscard]] static std::span<std::string_view const> names() noexcept;
};

struct FLOTILLA_EXPORT settings {
  device_settings all{};  ///< settings for every device
  /// Settings for single devices. They override `all`. The key is an index in `runtime::devices()`.
  std::map<unsigned, device_settings> devices{};

  /// Sets one setting. `key` is the name of the setting. The setting applies to all devices, or
  /// only to device N if `key` begins with "N:".
  /// @throws unknown_setting  The key or the value is invalid. The message names the invalid part.
  ///                          Nothing was set.
  void set(std::string_view key, std::string_view value);

  /// Reads "key=value" pairs separated by commas, as in
  /// `FLOTILLA_SETTINGS="schedule=spin,1:cache=l1"`.
  /// @throws unknown_setting  A pair is invalid or contradicts an earlier pair. The message names
  ///                          the pair.
  [[nodiscard]] static settings parse(std::string_view text);

  /// Reads a TOML file. The names of settings are keys. A table `[limits]` may contain the settings
  /// that begin with "limits.". A table `[devices.N]` contains the settings for device N.
  /// @throws unknown_setting  The file cannot be read or is invalid. The message names the file
  ///                          and, if possible, the line and the key.
  [[nodiscard]] static settings read(std::filesystem::path const& file);

  /// Reads the settings in FLOTILLA_SETTINGS and in the file that FLOTILLA_CONFIG names. If both
  /// have the same setting, FLOTILLA_SETTINGS wins. FLOTILLA_ISOLATION, FLOTILLA_SPARE and
  /// FLOTILLA_STUCK_AFTER are short for the settings "isolation", "spare" and "stuck_after" of all
  /// devices, and override both.
  /// @throws unknown_setting  The variable or the file is invalid. The message says which of them,
  ///                          and names the place of the error.
  [[nodiscard]] static settings from_environment();

  /// Returns the settings for device `ordinal`. Where `devices` has no value, `all` applies.
  [[nodiscard]] device_settings of(unsigned ordinal) const;
  /// Returns a copy of these settings. For each device, settings that are not set here have the
  /// values from `lower`.
  [[nodiscard]] settings over(settings const& lower) const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(wait_policy value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(cache_preference value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(bank_size value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(isolation value);
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(spare value);

}  // namespace v0_1
}  // namespace flotilla
