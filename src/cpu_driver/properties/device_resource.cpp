// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/properties/device_resource.hpp"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstring>
#include <deque>
#include <mutex>

#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {
namespace {

using numbers = std::bitset<properties::multiprocessors>;

enum class origin : std::uint32_t { query = 1, group, remainder };

/// The private part of a CUdevResource.
struct inside {
  std::uint64_t mark;
  // Number of the split() call that made this resource; 0: not made by split().
  std::uint64_t split;
  numbers which;
  std::int32_t device;
  origin from;
};
constexpr std::uint64_t our_mark = 0x666c6f74696c6c61;  // "flotilla" in ASCII: made by this driver
static_assert(sizeof(inside) <= sizeof(CUdevResource::_internal_padding));

// On a device of compute capability 9.0, the size of a group is a multiple of `group_granule`,
// or of `fine_group_granule` if the application ignores co-scheduling.
constexpr unsigned group_granule = 8;
constexpr unsigned fine_group_granule = 2;

// A cluster is eight neighbouring multiprocessors. Unless the application ignores co-scheduling,
// each group needs at least one whole cluster. An H200 has 132 multiprocessors: 15 clusters, and 12
// multiprocessors outside clusters. So an H200 has room for 15 groups of 8, one for each cluster,
// but only for 8 groups of 16. On a CPU device, multiprocessors 0 to 7 are the first cluster, and
// 112 to 119 are the last cluster.
constexpr unsigned clusters = 15;

struct description {
  int device;
  multiprocessor_set which;
};

struct descriptions {
  std::mutex mutex;
  // Guarded by mutex. The handles are addresses of elements, which a deque never moves.
  std::deque<description> all;

  static descriptions& get() {
    static auto* const only = new descriptions;
    return *only;
  }
};

CUdevResource make(inside const& what, unsigned min_size) noexcept {
  CUdevResource made;
  std::memset(&made, 0, sizeof made);
  made.type = CU_DEV_RESOURCE_TYPE_SM;
  std::memcpy(made._internal_padding, &what, sizeof what);
  made.sm.smCount = static_cast<unsigned>(what.which.count());
  made.sm.minSmPartitionSize = min_size;
  made.sm.smCoscheduledAlignment = min_size;
  return made;
}

CUresult read(CUdevResource const& resource, inside& found) noexcept {
  if (resource.type != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
  std::memcpy(&found, resource._internal_padding, sizeof found);
  return found.mark == our_mark ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The number of clusters whose multiprocessors are all in `from`.
unsigned clusters_of(numbers const& from) noexcept {
  unsigned whole = 0;
  std::size_t const count = std::size_t{clusters} * group_granule;
  for (std::size_t first = 0; first < count; first += group_granule) {
    bool all = true;
    for (std::size_t i = first; i < first + group_granule; ++i) { all = all && from.test(i); }
    whole += all ? 1 : 0;
  }
  return whole;
}

/// Removes the first `count` numbers from `from` and returns them.
numbers take(numbers& from, unsigned count) noexcept {
  numbers taken;
  for (std::size_t i = 0; i < from.size() && count > 0; ++i) {
    if (!from.test(i)) { continue; }
    taken.set(i);
    from.reset(i);
    --count;
  }
  return taken;
}

}  // namespace

CUdevResource resource_of(int device, multiprocessor_set const& which) noexcept {
  inside what{our_mark, 0, {}, device, origin::query};
  for (auto const each : which) { what.which.set(each); }
  return make(what, group_granule);
}

CUresult split(split_request const& wanted) noexcept {
  if (wanted.groups == nullptr || wanted.input == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (wanted.result != nullptr && *wanted.groups == 0) { return CUDA_ERROR_INVALID_VALUE; }
  // The two flags exclude each other. Unknown bits are ignored: an H200's driver accepts flags = 4.
  constexpr unsigned known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                             CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  unsigned const flags = wanted.flags & known;
  if (flags == known) { return CUDA_ERROR_INVALID_VALUE; }
  inside input{};
  if (CUresult const status = read(*wanted.input, input)) { return status; }
  auto const there = static_cast<unsigned>(input.which.count());
  if (wanted.min_size > there || there == 0 || input.from == origin::group) {
    return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  }

  bool const fine = flags == CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  unsigned const unit = fine ? fine_group_granule : group_granule;
  // Round up to a multiple of `unit`, but not above the number of multiprocessors in the input. For
  // example, a group of all 132 multiprocessors is allowed, although 132 is not a multiple of 8.
  unsigned const size = std::min((std::max(wanted.min_size, 1u) + unit - 1) / unit * unit, there);
  unsigned const possible = fine ? there / size : std::min(there / size, clusters_of(input.which));
  if (possible == 0) { return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION; }
  if (wanted.result == nullptr) {
    *wanted.groups = possible;
    return CUDA_SUCCESS;
  }
  static std::atomic<std::uint64_t> splits{0};
  std::uint64_t const number =
      // relaxed: the number only has to be unique
      splits.fetch_add(1, std::memory_order_relaxed) + 1;
  unsigned const made = std::min(*wanted.groups, possible);
  for (unsigned i = 0; i < made; ++i) {
    wanted.result[i] =
        make({our_mark, number, take(input.which, size), input.device, origin::group}, unit);
  }
  *wanted.groups = made;
  if (wanted.remaining != nullptr) {
    CUdevResource none;
    std::memset(&none, 0, sizeof none);
    *wanted.remaining =
        input.which.none()
            ? none
            : make({our_mark, number, input.which, input.device, origin::remainder}, unit);
  }
  return CUDA_SUCCESS;
}

CUresult describe(CUdevResource const* resources, unsigned count, CUdevResourceDesc& made) {
  if (resources == nullptr || count == 0) { return CUDA_ERROR_INVALID_VALUE; }
  inside first{};
  if (CUresult const status = read(resources[0], first)) { return status; }
  numbers all = first.which;
  for (unsigned i = 1; i < count; ++i) {
    inside next{};
    if (CUresult const status = read(resources[i], next)) { return status; }
    bool const together = next.device == first.device && next.split == first.split &&
                          first.split != 0 && (all & next.which).none();
    if (!together) { return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION; }
    all |= next.which;
  }
  description what{first.device, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.test(i)) { what.which.push_back(static_cast<std::uint16_t>(i)); }
  }
  auto& known = descriptions::get();
  std::lock_guard const lock(known.mutex);
  known.all.push_back(std::move(what));
  made = reinterpret_cast<CUdevResourceDesc>(&known.all.back());
  return CUDA_SUCCESS;
}

bool read_description(CUdevResourceDesc handle, int& device, multiprocessor_set& which) {
  auto& known = descriptions::get();
  std::lock_guard const lock(known.mutex);
  auto const found = std::find_if(known.all.begin(), known.all.end(), [&](description const& each) {
    return reinterpret_cast<CUdevResourceDesc>(const_cast<description*>(&each)) == handle;
  });
  if (found == known.all.end()) { return false; }
  device = found->device;
  which = found->which;
  return true;
}

}  // namespace flotilla::cpu_driver
