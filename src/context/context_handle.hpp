// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A context that only the holder of its lease makes current.

#include <cuda.h>

#include <memory>
#include <string>

#include <flotilla/device/device.hpp>
#include <flotilla/settings/settings.hpp>

#include "context/apply.hpp"
#include "context/request.hpp"
#include "context/source.hpp"
#include "driver/table.hpp"

namespace flotilla::context {

/// Returns the number of contexts that flotilla holds in this process. Threads: any.
[[nodiscard]] unsigned live_contexts() noexcept;

/// Holds one context of one device. The context can come from any source (source.hpp). This object
/// cannot move, because the context's lease_gate holds a reference to it.
class context_handle {
 public:
  /// Gets the context, applies the settings and reads them back. Leaves the calling thread's
  /// context stack unchanged, even if the constructor throws.
  /// @throws driver_error      A call failed. If the driver refused a setting, the message names
  ///                           the setting. The constructor releases the context before it throws.
  /// @throws invalid_argument  The context cannot be adopted.
  context_handle(std::shared_ptr<driver::table const> api, device const& where, request asked);
  /// Releases the context, and destroys it if flotilla created it. The context must be current on
  /// no thread. No other code may destroy a context that flotilla created: destroying a context
  /// twice corrupts the driver's heap.
  ~context_handle();
  context_handle(context_handle const&) = delete;
  context_handle& operator=(context_handle const&) = delete;

  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }
  [[nodiscard]] std::shared_ptr<driver::table const> const& shared_api() const noexcept {
    return api_;
  }
  [[nodiscard]] device const& where() const noexcept { return where_; }
  [[nodiscard]] device_settings const& asked() const noexcept { return asked_.settings; }
  [[nodiscard]] device_settings const& effective() const noexcept { return effective_; }
  [[nodiscard]] rejected_settings const& refused() const noexcept { return refused_; }
  /// The NUMA node that host memory of the device prefers; -1: none.
  [[nodiscard]] int host_node() const noexcept { return asked_.host_node; }
  /// For messages: "device 1 (NVIDIA H200)".
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }

  /// Releases the context now instead of in the destructor. Code that refers to this object must
  /// not use the context afterwards.
  void destroy() noexcept;

 private:
  void set_up();
  void restore_settings() noexcept;
  void report_failure(char const* call, CUresult answer) const noexcept;

  std::shared_ptr<driver::table const> api_;
  device where_;
  request asked_;
  std::string subject_;
  std::unique_ptr<source> source_;
  CUcontext handle_ = nullptr;
  rejected_settings refused_;
  device_settings found_;  // the settings of a shared context before flotilla applied its own
  device_settings effective_;
};

}  // namespace flotilla::context
