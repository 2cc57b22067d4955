// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries that are opened at run time.

#include <span>
#include <string>

namespace flotilla::compiler {

/// A library that stays open until the process ends.
struct opened_library {
  void* handle = nullptr;
  std::string path;   ///< of the file, as the dynamic loader found it
  std::string tried;  ///< if the handle is null: the names, each with the reason
};

/// Opens the first of these that exists. A name without a slash is searched by the dynamic loader.
[[nodiscard]] opened_library open_first(std::span<std::string const> names);

/// Returns the entry point, or null.
[[nodiscard]] void* find_entry(opened_library const& in, char const* name) noexcept;

}  // namespace flotilla::compiler
