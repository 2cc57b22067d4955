// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/flags.hpp"

#include <utility>

namespace flotilla::context {

namespace {

struct flag_entry {
  unsigned bit;
  std::optional<bool> device_settings::*value;
};
constexpr std::array flag_table{
    flag_entry{CU_CTX_MAP_HOST, &device_settings::map_host},
    flag_entry{CU_CTX_LMEM_RESIZE_TO_MAX, &device_settings::lmem_resize_to_max},
    flag_entry{CU_CTX_COREDUMP_ENABLE, &device_settings::coredump},
    flag_entry{CU_CTX_USER_COREDUMP_ENABLE, &device_settings::user_coredump},
    flag_entry{CU_CTX_SYNC_MEMOPS, &device_settings::sync_memops},
};

unsigned flag_of(wait_policy how) noexcept {
  switch (how) {
    case wait_policy::automatic: return CU_CTX_SCHED_AUTO;
    case wait_policy::spin: return CU_CTX_SCHED_SPIN;
    case wait_policy::yield: return CU_CTX_SCHED_YIELD;
    case wait_policy::blocking: return CU_CTX_SCHED_BLOCKING_SYNC;
  }
  return CU_CTX_SCHED_AUTO;
}

wait_policy schedule_of(unsigned flags) noexcept {
  switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN: return wait_policy::spin;
    case CU_CTX_SCHED_YIELD: return wait_policy::yield;
    case CU_CTX_SCHED_BLOCKING_SYNC: return wait_policy::blocking;
    default: return wait_policy::automatic;
  }
}

}  // namespace

unsigned bits_of(context_flags const& flags) {
  if (flags.user_coredump && !flags.coredump) {
    throw invalid_argument(
        "context_flags: user_coredump is set, but coredump is not; user_coredump requires "
        "coredump");
  }
  device_settings same;
  same.schedule = flags.schedule;
  same.map_host = flags.map_host;
  same.lmem_resize_to_max = flags.lmem_resize_to_max;
  same.coredump = flags.coredump;
  same.user_coredump = flags.user_coredump;
  same.sync_memops = flags.sync_memops;
  return flags_of(same);
}

context_flags flags_from(unsigned bits) noexcept {
  device_settings same;
  read_flags(bits, same);
  return {*same.schedule, *same.map_host,      *same.lmem_resize_to_max,
          *same.coredump, *same.user_coredump, *same.sync_memops};
}

unsigned flags_of(device_settings const& asked, unsigned otherwise) noexcept {
  unsigned flags = otherwise;
  if (asked.schedule) {
    flags = (flags & ~static_cast<unsigned>(CU_CTX_SCHED_MASK)) | flag_of(*asked.schedule);
  }
  for (flag_entry const& each : flag_table) {
    if (auto const& wanted = asked.*each.value) {
      flags = *wanted ? flags | each.bit : flags & ~each.bit;
    }
  }
  return flags;
}

void read_flags(unsigned flags, device_settings& into) noexcept {
  into.schedule = schedule_of(flags);
  for (flag_entry const& each : flag_table) { into.*each.value = (flags & each.bit) != 0; }
}

}  // namespace flotilla::context
