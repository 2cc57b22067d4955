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
    std::string name;  // a folder's ends with '/', so that names sort as the paths below them would
    bool is_folder;
  };
  std::vector<entry> entries;
  std::error_code error;
  fs::directory_iterator at{folder, error};
  for (; !error && at != fs::directory_iterator{}; at.increment(error)) {
    std::string name = at->path().filename().string();
    std::error_code vanished;  // then there is nothing to leave out either
    switch (at->symlink_status(vanished).type()) {
      case fs::file_type::regular: entries.push_back({std::move(name), false}); break;
      case fs::file_type::directory: entries.push_back({std::move(name) + '/', true}); break;
      case fs::file_type::not_found: break;
      case fs::file_type::none: failure_(folder + '/' + name, vanished.message()); break;
      default: ++left_out_; break;
    }
  }
  // What was listed before it failed is still worth reading.
  if (error) { failure_(folder, error.message()); }

  std::sort(entries.begin(), entries.end(),
            [](entry const& a, entry const& b) { return a.name < b.name; });
  for (entry& each : entries) {
    if (each.is_folder) {
      each.name.pop_back();
      visit_folder(folder + '/' + each.name);
    } else {
      file_(folder + '/' + each.name);
    }
  }
}

}  // namespace block_digest
