// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/disk_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <vector>

#include "base/log.hpp"
#include "compiler/privileges.hpp"

namespace flotilla::compiler {

namespace {

constexpr std::string_view suffix = ".kernels";
constexpr std::string_view temporary_suffix = ".part";
// A temporary file of this age belongs to a process that has ended without removing it.
constexpr std::time_t stale_after_seconds = 3600;

/// Returns the parent of the default folder; empty if there is none.
std::string default_parent() {
  std::string parent = trusted_environment("XDG_CACHE_HOME");
  // The specification of XDG: a relative path is to be ignored.
  if (!parent.starts_with('/')) {
    std::string const home = trusted_environment("HOME");
    if (!home.starts_with('/')) { return {}; }
    parent = home + "/.cache";
  }
  return parent;
}

std::string system_text() { return std::strerror(errno); }

bool is_private(struct stat const& file) noexcept {
  return file.st_uid == ::geteuid() && (file.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/// Makes a folder if it does not exist. @return false: it cannot be made, and `why_not` says why
bool make_folder(std::string const& path, std::string& why_not) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) { return true; }
  why_not = "cannot make the folder " + path + ": " + system_text();
  return false;
}

struct cached_file {
  std::string name;
  std::size_t bytes;
  timespec used;

  bool operator<(cached_file const& other) const noexcept {
    return used.tv_sec != other.used.tv_sec ? used.tv_sec < other.used.tv_sec
                                            : used.tv_nsec < other.used.tv_nsec;
  }
};

/// Returns the entries of a cache, and removes temporary files that nobody writes any more.
std::vector<cached_file> list_entries(int folder) {
  std::vector<cached_file> found;
  int const again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> const listing{again < 0 ? nullptr : ::fdopendir(again),
                                                    &::closedir};
  if (listing == nullptr) {
    if (again >= 0) { ::close(again); }
    return found;
  }
  while (dirent const* const each = ::readdir(listing.get())) {
    std::string_view const name = each->d_name;
    bool const temporary = name.ends_with(temporary_suffix);
    if (!temporary && !name.ends_with(suffix)) { continue; }
    struct stat file {};
    if (::fstatat(folder, each->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) { continue; }
    if (!temporary) {
      found.push_back({std::string{name}, static_cast<std::size_t>(file.st_size), file.st_mtim});
    } else if (file.st_mtim.tv_sec + stale_after_seconds < std::time(nullptr)) {
      ::unlinkat(folder, each->d_name, 0);
    }
  }
  return found;
}

}  // namespace

disk_cache::disk_cache(compile_options const& options, log_level of_refusal)
    : max_bytes_(options.cache_bytes), folder_(open_folder(options, path_, why_not_)) {
  if (!why_not_.empty()) {
    base::log(of_refusal, "kernels are compiled without a cache: " + why_not_);
  }
}

file_handle disk_cache::open_folder(compile_options const& options, std::string& path,
                                    std::string& why_not) {
  if (!options.cache) { return file_handle{-1}; }
  path = options.cache_directory.string();
  if (path.empty() && has_raised_privileges()) { return file_handle{-1}; }
  if (path.empty()) {
    std::string const parent = default_parent();
    if (parent.empty()) {
      why_not = "neither XDG_CACHE_HOME nor HOME is an absolute path";
      return file_handle{-1};
    }
    path = parent + "/flotilla";
    // Without its parent, the folder could only fail with "No such file or directory".
    if (!make_folder(parent, why_not)) { return file_handle{-1}; }
  }
  if (!make_folder(path, why_not)) { return file_handle{-1}; }
  file_handle folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  struct stat about {};
  if (!folder.is_open() || ::fstat(folder.get(), &about) != 0) {
    why_not = "cannot open the folder " + path + ": " + system_text();
    return file_handle{-1};
  }
  if (!is_private(about)) {
    why_not =
        "the folder " + path +
        " does not belong to the user alone; it must have the user as its owner and mode 0700";
    return file_handle{-1};
  }
  return folder;
}

bool disk_cache::is_writable() const noexcept {
  return is_usable() && ::faccessat(folder_.get(), ".", W_OK, AT_EACCESS) == 0;
}

disk_cache::contents disk_cache::count() const {
  contents made;
  if (!is_usable()) { return made; }
  for (cached_file const& each : list_entries(folder_.get())) {
    ++made.entries;
    made.bytes += each.bytes;
  }
  return made;
}

std::optional<compiled_code> disk_cache::find(std::string_view key) const {
  if (!is_usable()) { return {}; }
  std::string const name = std::string{key} + std::string{suffix};
  file_handle const file{
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file.is_open()) { return {}; }
  struct stat about {};
  std::string bytes;
  std::optional<compiled_code> found;
  bool const is_ours =
      ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && is_private(about);
  if (is_ours && read_all(file.get(), bytes)) { found = unpack(bytes); }
  if (found) {
    ::utimensat(folder_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  } else {
    base::log(log_level::info, "an entry of the cache " + path_ + " is " +
                                   (is_ours ? "damaged" : "not private") +
                                   "; its kernels are compiled again: " + name);
    ::unlinkat(folder_.get(), name.c_str(), 0);
  }
  return found;
}

void disk_cache::store(std::string_view key, compiled_code const& code) const {
  if (!is_usable()) { return; }
  std::string const bytes = pack(code);
  if (bytes.size() > max_bytes_) { return; }
  // The number of the process tells apart processes, and the counter threads.
  static constinit std::atomic<std::uint64_t> count{0};
  std::string const name = std::string{key} + std::string{suffix};
  std::string const part = std::string{key} + "." + std::to_string(::getpid()) + "." +
                           std::to_string(count.fetch_add(1)) + std::string{temporary_suffix};
  file_handle file{::openat(folder_.get(), part.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR)};
  bool stored = file.is_open() && write_all(file.get(), bytes);
  file.close();
  stored = stored && ::renameat(folder_.get(), part.c_str(), folder_.get(), name.c_str()) == 0;
  if (!stored) {
    std::string const why = system_text();
    ::unlinkat(folder_.get(), part.c_str(), 0);
    base::log(log_level::warning,
              "compiled kernels cannot be kept in the cache " + path_ + ": " + why);
    return;
  }
  limit_size(name);
}

void disk_cache::limit_size(std::string_view kept) const {
  std::vector<cached_file> entries = list_entries(folder_.get());
  std::size_t total = 0;
  for (cached_file const& each : entries) { total += each.bytes; }
  if (total <= max_bytes_) { return; }
  std::sort(entries.begin(), entries.end());
  for (cached_file const& each : entries) {
    if (total <= max_bytes_) { return; }
    if (each.name == kept) { continue; }
    // Another process may have removed it already.
    ::unlinkat(folder_.get(), each.name.c_str(), 0);
    total -= each.bytes;
  }
}

}  // namespace flotilla::compiler
