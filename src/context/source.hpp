// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gets a context from the source that the settings name, and later releases the context. Only the
// implementations of this interface create and destroy contexts in flotilla.

#include <cuda.h>

#include <memory>
#include <string>

#include "context/apply.hpp"
#include "context/request.hpp"

namespace flotilla::context {

/// Holds a context without making it current.
class source {
 public:
  virtual ~source() = default;
  source(source const&) = delete;
  source& operator=(source const&) = delete;

  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  /// Whether other code may also use the context. If so, context_handle restores the settings of
  /// the context before it calls give_up().
  [[nodiscard]] bool shared() const noexcept { return shared_; }
  /// Releases the context. Afterwards the handle must not be used. Sets `call` to the name of the
  /// driver call, for error messages. The owner of this object must call give_up() exactly once.
  virtual CUresult give_up(char const*& call) noexcept = 0;

 protected:
  source() = default;
  CUcontext handle_ = nullptr;
  bool shared_ = false;
};

/// Gets a context of `device`. Leaves the calling thread's context stack unchanged, even if the
/// function throws.
/// @param subject  The device in words, for messages.
/// @throws driver_error      The driver created no context. If the compute mode of the device can
///                           be the reason, the message names this mode.
/// @throws invalid_argument  The context to adopt is unknown to the driver, or belongs to another
///                           device or to flotilla. Or `exec_affinity` is set, but the context
///                           source is not `owned`.
[[nodiscard]] std::unique_ptr<source> make_source(driver::table const& api, CUdevice device,
                                                  request const& asked, std::string const& subject,
                                                  rejected_settings& into);

}  // namespace flotilla::context
