// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/green.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::context {

namespace {

[[noreturn]] void refuse(std::string const& subject, CUdevResource const& all, unsigned count,
                         std::size_t wanted, std::size_t there) {
  throw invalid_argument(subject + " cannot be split as requested: " + std::to_string(wanted) +
                         " part" + (wanted == 1 ? "" : "s") + " of " + std::to_string(count) +
                         " multiprocessors were requested, but the device has room for only " +
                         std::to_string(there) + "; the device has " +
                         std::to_string(all.sm.smCount) +
                         " multiprocessors, and the size of a part is at least " +
                         std::to_string(all.sm.minSmPartitionSize) + " and a multiple of " +
                         std::to_string(all.sm.smCoscheduledAlignment));
}

}  // namespace

std::vector<CUdevResource> split_multiprocessors(driver::table const& api, CUdevice device,
                                                 std::string const& subject,
                                                 std::span<unsigned const> counts) {
  using driver::check;
  if (api.device_get_dev_resource == nullptr || api.dev_sm_resource_split_by_count == nullptr) {
    throw driver_error(driver_status::not_supported, "cuDeviceGetDevResource",
                       subject + ", whose driver does not support green contexts");
  }
  CUdevResource all{};
  check(api.device_get_dev_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource", [&] { return subject + " (query of the multiprocessors)"; });
  // Each split makes all slices of one size. The largest slices are made first, because the
  // remainder of a split may consist of groups that are too small for a larger slice.
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  std::vector<CUdevResource> made(counts.size());
  CUdevResource left = all;
  for (std::size_t first = 0; first < order.size();) {
    unsigned const count = counts[order[first]];
    std::size_t last = first;
    while (last < order.size() && counts[order[last]] == count) { ++last; }
    std::size_t const wanted = last - first;
    if (count > all.sm.smCount || left.type != CU_DEV_RESOURCE_TYPE_SM || count > left.sm.smCount) {
      refuse(subject, all, count, wanted, 0);
    }
    std::vector<CUdevResource> groups(wanted);
    unsigned given = static_cast<unsigned>(wanted);
    CUdevResource rest{};
    CUresult const answer =
        api.dev_sm_resource_split_by_count(groups.data(), &given, &left, &rest, 0, count);
    if (answer == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) {
      refuse(subject, all, count, wanted, 0);
    }
    check(answer, "cuDevSmResourceSplitByCount", [&] {
      return subject + " (request for " + std::to_string(wanted) + " parts of " +
             std::to_string(count) + " multiprocessors)";
    });
    if (given < wanted) { refuse(subject, all, count, wanted, given); }
    for (std::size_t i = 0; i < wanted; ++i) { made[order[first + i]] = groups[i]; }
    left = rest;
    first = last;
  }
  return made;
}

bool shared_by_green_contexts(std::string_view setting) noexcept {
  struct row {
    std::string_view name;
    bool shared;
  };
  static constexpr row table[] = {
      {"schedule", true},
      {"map_host", true},
      {"lmem_resize_to_max", true},
      {"coredump", true},
      {"user_coredump", true},
      {"sync_memops", true},
      {"cache", true},
      {"bank_size", true},
      {"limits.stack", true},
      {"limits.printf_fifo", true},
      {"limits.malloc_heap", true},
      {"limits.sync_depth", true},
      {"limits.pending_launches", true},
      {"limits.l2_fetch_granularity", true},
      {"limits.persisting_l2", true},
  };
  for (row const& each : table) {
    if (each.name == setting) { return each.shared; }
  }
  return false;
}

}  // namespace flotilla::context
