// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers of the C library for NVRTC, which has none.

#include <span>

#include "compiler/kernel_headers.hpp"

namespace flotilla::compiler {

/// What sources for both kinds of devices include most: assert, float, limits, math, stddef,
/// stdint, stdio, stdlib and string, and their names in C++. NVRTC itself knows the functions; the
/// headers have the types and constants.
[[nodiscard]] std::span<kernel_header const> standard_headers() noexcept;

}  // namespace flotilla::compiler
