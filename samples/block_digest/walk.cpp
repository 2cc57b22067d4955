// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "walk.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace block_digest {

namespace fs = std::filesystem;

void walk::visit(std::string const& path) {
  std::error_code error;
  switch (fs::symlink_status(path, error).type()) {
    case fs::file_type::regular: file_(path); break;
    case fs::file_type::directory: visit_folder(path); break;
    case fs::file_type::none:
    case fs::file_type::not_found: failure_(path, error.message()); break;
    case fs::file_type::symlink: failure_(path, "a symbolic link, which is not followed"); break;
    default: failure_(path, "neither a file nor a folder"); break;
  }
}

void walk::visit_folder(std::string const& folder) {
  struct entry {
    std::string name;  // ends with '/' for a folder, so that sorting by name gives the path order
    bool is_folder;
  };
  std::vector<entry> entries;
  std::error_code error;
  fs::directory_iterator at{folder, error};
  for (; !error && at != fs::directory_iterator{}; at.increment(error)) {
    std::string name = at->path().filename().string();
    std::error_code vanished;
    switch (at->symlink_status(vanished).type()) {
      case fs::file_type::regular: entries.push_back({std::move(name), false}); break;
      case fs::file_type::directory: entries.push_back({std::move(name) + '/', true}); break;
      case fs::file_type::not_found: break;  // removed after the listing, so it is not counted
      case fs::file_type::none: failure_(folder + '/' + name, vanished.message()); break;
      default: ++skipped_; break;
    }
  }
  // After an error, the entries that were listed before the error are still visited.
  if (error) { failure_(folder, error.message()); }

  std::sort(entries.begin(), entries.end(),
            [](entry const& a, entry const& b) { return a.name < b.name; });
  for (entry& found : entries) {
    if (found.is_folder) {
      found.name.pop_back();
      visit_folder(folder + '/' + found.name);
    } else {
      file_(folder + '/' + found.name);
    }
  }
}

}  // namespace block_digest
