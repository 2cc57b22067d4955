// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the twins of the kernels that copy and fill have in common.

#include <initializer_list>
#include <string>
#include <string_view>

namespace flotilla::dispatch::copy_kernels {

/// Returns the beginning of the twin of `kernel`, as flotilla_make_twins makes it: it finds the
/// record of the block's task and the index of the block. @throws std::bad_alloc
[[nodiscard]] std::string twin_begin(std::string_view kernel);
inline constexpr std::string_view twin_end = "\n}\n\n";

/// Returns the parts of a module as one text. @throws std::bad_alloc
[[nodiscard]] std::string join(std::initializer_list<std::string_view> parts);

}  // namespace flotilla::dispatch::copy_kernels
