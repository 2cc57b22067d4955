#pragma once
/// A context that somebody keeps beside the runtime: a plug-in's own, current only while it is called.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/context_driver.hpp>
#include <flotilla/context_ref.hpp>
#include <flotilla/device.hpp>
#include <flotilla/export.hpp>
#include <flotilla/settings.hpp>
#include <flotilla/settings_report.hpp>

namespace flotilla {

namespace context {
class floating_context;
}

/// Owns a context that is current on no thread. It is given up when this object and the last scope of it have ended: once,
/// by its owner, and never under somebody who has it current.
///
/// Threads   any thread may enter it at any time; a green context one thread at a time.
/// fork      not to be used in a child of fork().
class FLOTILLA_EXPORT floating_context {
 public:
  /// Makes a context of `where` by the source that `asked` names, owned without, and sets the rest of it. The caller's
  /// stack is as before, also when this throws.
  /// @param where        One of `driver.devices()`; its `ordinal` is for messages.
  /// @param best_effort  As runtime_options has it.
  /// @throws driver_error      naming the device, the setting that was refused, and why. Nothing is left behind.
  /// @throws invalid_argument  A context that cannot be adopted; multiprocessors that cannot be had.
  /// Cost  that of the driver: 0.1 s and 0.5 GiB on a GPU, of which green and primary contexts share one.
  floating_context(context_driver const& driver, device const& where, device_settings const& asked = {},
                   bool best_effort = false);
  /// Green contexts of one device, of so many multiprocessors each, none in two of them.
  [[nodiscard]] static std::vector<floating_context> parts(context_driver const& driver, device const& where,
                                                           std::span<unsigned const> multiprocessors,
                                                           device_settings const& asked = {});
  floating_context(floating_context&&) noexcept;
  floating_context& operator=(floating_context&&) noexcept;
  ~floating_context();

  /// Gives it up now. Afterwards only `is_open` and the destructor may be called.
  /// @throws context_in_use  A scope of it is open, or a thread has it on its stack. It stays as it is.
  void close();
  [[nodiscard]] bool is_open() const noexcept { return held_ != nullptr; }

  [[nodiscard]] context_ref ref() const;
  [[nodiscard]] flotilla::device const& device() const;
  [[nodiscard]] device_settings const& effective_settings() const;
  [[nodiscard]] settings_report report_settings() const;

 private:
  friend class context_scope;
  friend class mapped_memory;
  explicit floating_context(std::shared_ptr<context::floating_context> held) noexcept;
  std::shared_ptr<context::floating_context> held_;
};

/// Makes a context current on the calling thread until the end of the block. Scopes nest and close in reverse order.
/// The stack is then as it was: what the block has left on top is taken away and reported on stderr.
class FLOTILLA_EXPORT [[nodiscard]] context_scope {
 public:
  /// Pushes. @throws driver_error, context_in_use: then nothing was pushed.
  explicit context_scope(floating_context const& of);
  /// The same of a context that somebody else keeps alive.
  explicit context_scope(context_ref of);
  ~context_scope();
  context_scope(context_scope&&) = delete;

 private:
  std::shared_ptr<context::floating_context> kept_;  // lives while it is current
  context_ref of_;
};

static_assert(!std::is_move_constructible_v<context_scope> && !std::is_copy_constructible_v<context_scope>);

/// Host memory that kernels of a context read and write in place. It keeps its context alive.
class FLOTILLA_EXPORT mapped_memory {
 public:
  /// @throws driver_error  Out of memory, naming bytes and device.
  mapped_memory(floating_context const& of, std::size_t bytes);
  ~mapped_memory();
  mapped_memory(mapped_memory&& other) noexcept;
  mapped_memory& operator=(mapped_memory&&) = delete;

  [[nodiscard]] std::span<std::byte> host() const noexcept { return {host_, bytes_}; }
  /// Where kernels see it.
  [[nodiscard]] std::uintptr_t device_address() const noexcept { return device_; }

 private:
  std::shared_ptr<context::floating_context> kept_;
  std::byte* host_ = nullptr;
  std::size_t bytes_ = 0;
  std::uintptr_t device_ = 0;
};

}  // namespace flotilla
