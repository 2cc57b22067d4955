#pragma once
// Gets a context from where settings say, and gives it up there: the one place that creates and destroys.

#include <cuda.h>

#include <memory>
#include <string>

#include "context/apply.hpp"
#include "context/request.hpp"

namespace flotilla::context {

/// A context, held. Current nowhere by this.
class source {
 public:
  virtual ~source() = default;
  source(source const&) = delete;
  source& operator=(source const&) = delete;

  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  /// Whether others may use it too: then its settings are put back at the end.
  [[nodiscard]] bool shared() const noexcept { return shared_; }
  /// Gives it up, once; the handle is of no use afterwards. `call` becomes what was called.
  virtual CUresult give_up(char const*& call) noexcept = 0;

 protected:
  source() = default;
  CUcontext handle_ = nullptr;
  bool shared_ = false;
};

/// Gets a context of `device`; the calling thread's stack is as before, also when this throws.
/// @param subject  The device in words.
/// @throws driver_error      The driver refuses; says so of prohibited and exclusive devices.
/// @throws invalid_argument  An adopted handle that the driver does not know, or of another device, or flotilla's own.
[[nodiscard]] std::unique_ptr<source> make_source(driver::table const& api, CUdevice device,
                                                  request const& asked, std::string const& subject,
                                                  refusals& into);

}  // namespace flotilla::context
