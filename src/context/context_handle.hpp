#pragma once
// A context current on no thread. Whoever has its lease may make it current.

#include <cuda.h>

#include <memory>
#include <string>

#include <flotilla/device.hpp>
#include <flotilla/settings.hpp>

#include "context/apply.hpp"
#include "context/request.hpp"
#include "context/source.hpp"
#include "driver/table.hpp"

namespace flotilla::context {

/// How many floating contexts there are in this process. Threads: any.
[[nodiscard]] unsigned live_contexts() noexcept;

/// Holds one context of one device, from whichever source. Not movable: leases refer to it.
class floating_context {
 public:
  /// Gets the context, sets what is asked and reads back what was granted: the calling thread's stack
  /// is as before, also when this throws.
  /// @throws driver_error      naming the setting that was refused. Nothing is left behind.
  /// @throws invalid_argument  A context that cannot be adopted.
  floating_context(std::shared_ptr<driver::table const> api, device const& where, request asked);
  /// Gives it up: what is ours is destroyed. Nobody may have it current, and nobody else may ever destroy
  /// it: destroying a context twice corrupts the driver's heap.
  ~floating_context();
  floating_context(floating_context const&) = delete;
  floating_context& operator=(floating_context const&) = delete;

  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }
  [[nodiscard]] std::shared_ptr<driver::table const> const& shared_api() const noexcept { return api_; }
  [[nodiscard]] device const& where() const noexcept { return where_; }
  [[nodiscard]] device_settings const& asked() const noexcept { return asked_.settings; }
  [[nodiscard]] device_settings const& effective() const noexcept { return effective_; }
  [[nodiscard]] refusals const& refused() const noexcept { return refused_; }
  /// In words, for messages: "device 1 (NVIDIA H200)".
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }

  /// Gives it up now, before the object ends: what still refers to the object uses no context any more.
  void destroy() noexcept;

 private:
  void set_up();
  void put_back() noexcept;
  void say(char const* call, CUresult answer) const noexcept;

  std::shared_ptr<driver::table const> api_;
  device where_;
  request asked_;
  std::string subject_;
  std::unique_ptr<source> source_;
  CUcontext handle_ = nullptr;
  refusals refused_;
  device_settings found_;  // of a shared one, before it was ours to set
  device_settings effective_;
};

}  // namespace flotilla::context
