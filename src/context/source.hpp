#pragma once
// Gets a context from the source that settings name, and releases it. Only this file creates and
// destroys contexts.

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
  /// Whether other code may use the context too. If so, its settings are restored at the end.
  [[nodiscard]] bool shared() const noexcept { return shared_; }
  /// Releases the context. Call it once; afterwards the handle is invalid. Sets `call` to the name
  /// of the driver call.
  virtual CUresult give_up(char const*& call) noexcept = 0;

 protected:
  source() = default;
  CUcontext handle_ = nullptr;
  bool shared_ = false;
};

/// Gets a context of `device`. The calling thread's stack is unchanged, also if this throws.
/// @param subject  The device, for messages.
/// @throws driver_error      The driver refuses; the message names a prohibited or exclusive
///                           compute mode.
/// @throws invalid_argument  The driver does not know the adopted handle, or the context belongs to
///                           another device or to flotilla.
[[nodiscard]] std::unique_ptr<source> make_source(driver::table const& api, CUdevice device,
                                                  request const& asked, std::string const& subject,
                                                  rejected_settings& into);

}  // namespace flotilla::context
