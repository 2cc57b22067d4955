// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The source of a device's context: how the runtime makes or gets the context.

#include <string>

#include <flotilla/detail/export.hpp>

struct CUctx_st;

namespace flotilla {
inline namespace v0_1 {

/// The source of a device's context.
struct context_source {
  enum class kinds {
    /// The default. flotilla creates the context, and destroys it when the runtime or
    /// floating_context ends.
    owned,
    /// The context of the CUDA runtime library. flotilla retains this context, and releases it when
    /// the runtime or floating_context ends.
    primary,
    /// A context that other code created. flotilla never destroys this context. When the runtime or
    /// floating_context ends, flotilla restores the earlier settings of the context.
    adopted,
    /// A context with a part of the GPU's multiprocessors. A GPU can have several green contexts.
    green,
  };
  kinds kind = kinds::owned;
  /// For `adopted`: the context. It must outlive the runtime or floating_context that uses it.
  CUctx_st* handle = nullptr;
  /// For `green`: the minimum number of multiprocessors. The driver may round the number up.
  unsigned multiprocessors = 0;

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

/// Returns the text form of a source: "owned", "primary", "adopted" or, for example, "green:16".
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(context_source const& source);

}  // namespace v0_1
}  // namespace flotilla
