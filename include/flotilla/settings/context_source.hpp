#pragma once
/// Where the context of a device comes from.

#include <string>

#include <flotilla/export.hpp>

struct CUctx_st;

namespace flotilla {

/// The source of a device's context. Threads: as an int.
struct context_source {
  enum class kinds {
    owned,    ///< made for this device and destroyed with it; the default
    primary,  ///< the one the CUDA runtime library uses: retained, and released at the end
    adopted,  ///< somebody else's, handed in: never destroyed, and its settings put back at the end
    green,    ///< a part of a GPU's multiprocessors: a context of its own, several of one GPU at once
  };
  kinds kind = kinds::owned;
  CUctx_st* handle = nullptr;    ///< of `adopted`: must live as long as the device is used
  unsigned multiprocessors = 0;  ///< of `green`: how many at least; the driver may round up

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

}  // namespace flotilla
