// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which files a source includes.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla::compiler {

struct included_file {
  std::string name;  ///< as in the #include
  std::string path;  ///< empty: no include directory has the file
  std::string text;
};

struct included_files {
  /// The files, and those that they include, each once. Also files in parts of the source that the
  /// preprocessor removes, and files that are only asked for (__has_include).
  std::vector<included_file> files;
  /// False if a name is made by a macro, so that other files may be included too.
  bool is_complete = true;
};

/// Searches for `#include` in `source`, and in the files that it finds in `folders`. It does not
/// run the preprocessor: it finds more files than are used, but needs only the time to read them.
[[nodiscard]] included_files find_included_files(std::string_view source,
                                                 std::vector<std::filesystem::path> const& folders);

}  // namespace flotilla::compiler
