#pragma once
/// Where the context of a device comes from.

#include <string>

#include <flotilla/detail/export.hpp>

struct CUctx_st;

namespace flotilla {
inline namespace v0_1 {

/// The source of a device's context.
struct context_source {
  enum class kinds {
    owned,    ///< created for the runtime and destroyed with it; the default
    primary,  ///< the context of the CUDA runtime library: retained, and released at the end
    adopted,  ///< created by other code: never destroyed; its settings are restored at the end
    green,    ///< a context that has a part of the GPU's multiprocessors; a GPU can have several
  };
  kinds kind = kinds::owned;
  CUctx_st* handle = nullptr;    ///< for `adopted`: must stay valid as long as the device is used
  unsigned multiprocessors = 0;  ///< for `green`: at least this many; the driver may round up

  [[nodiscard]] static context_source owned() noexcept { return {}; }
  [[nodiscard]] static context_source primary() noexcept { return {kinds::primary, nullptr, 0}; }
  [[nodiscard]] static context_source adopted(CUctx_st* handle) noexcept {
    return {kinds::adopted, handle, 0};
  }
  [[nodiscard]] static context_source green(unsigned multiprocessors) noexcept {
    return {kinds::green, nullptr, multiprocessors};
  }
  bool operator==(context_source const&) const = default;
};

/// "owned", "primary", "adopted", "green:16".
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(context_source const& source);

}  // namespace v0_1
}  // namespace flotilla
