// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver/driver_log.hpp"

#include <algorithm>
#include <string_view>

#include "base/driver_notes.hpp"

namespace flotilla::driver {

namespace {

constexpr int first_version_with_log = 12090;

// Never destroyed, because errors may be made while the process ends.
driver_log*& log_in_use() {
  static driver_log* used = nullptr;
  return used;
}

}  // namespace

driver_log::driver_log(entries const& api) noexcept : api_(api) {
  if (api_.current == nullptr || api_.dump == nullptr || api_.current(&next_, 0) != CUDA_SUCCESS) {
    api_ = {};
  }
}

std::string driver_log::take() {
  if (api_.dump == nullptr) { return {}; }
  std::lock_guard const lock(mutex_);
  std::size_t bytes = max_bytes;
  if (api_.dump(&next_, text_.data(), &bytes, 0) != CUDA_SUCCESS || bytes > max_bytes) {
    return {};
  }
  std::string_view kept{text_.data(), bytes};
  constexpr std::size_t max_kept = 2000;
  if (kept.size() > max_kept) {
    kept.remove_prefix(kept.size() - max_kept);
    kept.remove_prefix(std::min(kept.find('\n'), kept.size() - 1) + 1);
  }
  return std::string{kept};
}

void use_log_of(resolver const& find) {
  driver_log::entries found;
  found.current = reinterpret_cast<decltype(found.current)>(
      find("cuLogsCurrent", first_version_with_log, "cuLogsCurrent"));
  found.dump = reinterpret_cast<decltype(found.dump)>(
      find("cuLogsDumpToMemory", first_version_with_log, "cuLogsDumpToMemory"));
  if (found.current == nullptr || found.dump == nullptr || log_in_use() != nullptr) { return; }
  log_in_use() = new driver_log{found};
  base::set_driver_notes([] { return log_in_use()->take(); });
}

}  // namespace flotilla::driver
