#pragma once
/// A context outside of any runtime, such as that of a plug-in, which is current only during calls.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/context/context_driver.hpp>
#include <flotilla/context/context_ref.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>

namespace flotilla::context {
class context_handle;
}

namespace flotilla {
inline namespace v0_1 {

/// Owns a context that is current on no thread. The context is released when this object and the
/// last of its scopes have ended, so never while a scope has it current.
///
/// Threads   any thread may enter it at any time; a green context only one thread at a time.
/// fork      do not use it in a child of fork().
class FLOTILLA_EXPORT floating_context {
 public:
  /// Makes a context of `device` from the source in `settings` (by default an owned one) and
  /// applies the other settings. The caller's stack is unchanged, also if this throws.
  /// @param device       One of `driver.devices()`; its `ordinal` is used in messages only.
  /// @param best_effort  as runtime_options::best_effort.
  /// @throws driver_error      naming the device, the refused setting and the reason. Nothing is
  ///                           left behind.
  /// @throws invalid_argument  The context cannot be adopted, or the device does not have the
  ///                           multiprocessors.
  /// Cost  about 0.1 s and 0.5 GiB on a GPU; green contexts share one such cost with the primary
  ///       context.
  floating_context(context_driver const& driver, flotilla::device const& device,
                   device_settings const& settings = {}, bool best_effort = false);
  /// Makes green contexts of one device, one for each element of `multiprocessors`, with that many
  /// multiprocessors. No multiprocessor belongs to two of them.
  [[nodiscard]] static std::vector<floating_context> parts(
      context_driver const& driver, flotilla::device const& device,
      std::span<unsigned const> multiprocessors, device_settings const& settings = {});
  floating_context(floating_context&&) noexcept;
  floating_context& operator=(floating_context&&) noexcept;
  ~floating_context();

  /// Releases the context now. Afterwards only `is_open` and the destructor may be called.
  /// @throws context_in_use  A scope of it is open, or a thread has it on its stack. Nothing
  ///                         changes.
  void close();
  [[nodiscard]] bool is_open() const noexcept { return held_ != nullptr; }

  [[nodiscard]] context_ref ref() const;
  [[nodiscard]] flotilla::device const& device() const;
  [[nodiscard]] device_settings const& effective_settings() const;
  [[nodiscard]] settings_report report_settings() const;

 private:
  friend class context_scope;
  friend class mapped_memory;
  explicit floating_context(std::shared_ptr<context::context_handle> held) noexcept;
  std::shared_ptr<context::context_handle> held_;
};

/// Makes a context current on the calling thread until the end of the block. Scopes nest and close
/// in reverse order. The destructor restores the stack: it pops contexts that the block has left on
/// top and reports them on stderr.
class FLOTILLA_EXPORT [[nodiscard]] context_scope {
 public:
  /// Pushes the context. @throws driver_error, context_in_use  Nothing was pushed.
  explicit context_scope(floating_context const& context);
  /// The same for a context that other code keeps alive.
  explicit context_scope(context_ref context);
  ~context_scope();
  context_scope(context_scope&&) = delete;

 private:
  std::shared_ptr<context::context_handle> kept_;  // keeps the context alive; null: other code does
  context_ref context_;
};

static_assert(!std::is_move_constructible_v<context_scope> &&
              !std::is_copy_constructible_v<context_scope>);

/// Host memory that kernels of a context read and write directly. It keeps the context alive.
class FLOTILLA_EXPORT mapped_memory {
 public:
  /// @throws driver_error  Out of memory; the message names bytes and device.
  mapped_memory(floating_context const& context, std::size_t bytes);
  ~mapped_memory();
  mapped_memory(mapped_memory&& other) noexcept;
  mapped_memory& operator=(mapped_memory&&) = delete;

  [[nodiscard]] std::span<std::byte> host() const noexcept { return {host_, bytes_}; }
  /// The address at which kernels access it.
  [[nodiscard]] std::uintptr_t device_address() const noexcept { return device_; }

 private:
  std::shared_ptr<context::context_handle> kept_;
  std::byte* host_ = nullptr;
  std::size_t bytes_ = 0;
  std::uintptr_t device_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
