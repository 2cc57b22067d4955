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

unsigned flag_of(schedule how) noexcept {
  switch (how) {
    case schedule::automatic: return CU_CTX_SCHED_AUTO;
    case schedule::spin: return CU_CTX_SCHED_SPIN;
    case schedule::yield: return CU_CTX_SCHED_YIELD;
    case schedule::blocking: return CU_CTX_SCHED_BLOCKING_SYNC;
  }
  return CU_CTX_SCHED_AUTO;
}

schedule schedule_of(unsigned flags) noexcept {
  switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN: return schedule::spin;
    case CU_CTX_SCHED_YIELD: return schedule::yield;
    case CU_CTX_SCHED_BLOCKING_SYNC: return schedule::blocking;
    default: return schedule::automatic;
  }
}

}  // namespace

unsigned bits_of(context_flags const& flags) {
  if (flags.user_coredump && !flags.coredump) {
    throw invalid_argument("context_flags: user_coredump without coredump: it implies it");
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
  return {*same.schedule, *same.map_host, *same.lmem_resize_to_max, *same.coredump, *same.user_coredump,
          *same.sync_memops};
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
