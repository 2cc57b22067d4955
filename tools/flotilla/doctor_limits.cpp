// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "doctor_surroundings.hpp"
#include "finding.hpp"

namespace tool {
namespace {

using grades = finding::grades;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct limit_rule {
  int resource;
  char const* about;
  std::uint64_t unit;  // in which the limit is shown
  char const* unit_text;
  std::uint64_t enough;
  bool needs_gpus;  // whether the rule is only for machines with GPUs
  grades grade;     // of a limit that is not enough
  char const* advice;
};

constexpr std::array<limit_rule, 6> rules{{
    {RLIMIT_NOFILE, "open files", 1, "", 64, false, grades::warning,
     "each isolated device needs some 10 files in this process, and GPU drivers need some too: "
     "raise "
     "the limit with ulimit -n 1024"},
    {RLIMIT_NPROC, "processes and threads", 1, "", 256, false, grades::note,
     "the limit counts the threads of all processes of this user, and a runtime has a thread for "
     "each worker, so starting one may fail: raise the limit with ulimit -u 4096"},
    {RLIMIT_MEMLOCK, "locked memory", 1024, " KiB", 64 * mib, false, grades::note,
     "pinned buffers may count towards this limit: raise it with ulimit -l unlimited"},
    {RLIMIT_AS, "address space", mib, " MiB", RLIM_INFINITY, true, grades::warning,
     "a GPU driver reserves more addresses than the machine has memory, and contexts may fail with "
     "'out of memory': remove the limit with ulimit -v unlimited; limit the memory with a cgroup"},
    {RLIMIT_AS, "address space", mib, " MiB", 1024 * mib, false, grades::note,
     "threads and buffers may find no addresses although there is memory: raise the limit with "
     "ulimit -v unlimited"},
    {RLIMIT_STACK, "stack of a thread", 1024, " KiB", mib, false, grades::note,
     "callables and host functions run on stacks of this size: raise the limit with ulimit -s "
     "8192"},
}};

void examine_limit(findings& into, limit_rule const& rule, std::uint64_t limit) {
  bool const enough = limit == RLIM_INFINITY || limit >= rule.enough;
  into.push_back({enough ? grades::ok : rule.grade, rule.about,
                  limit == RLIM_INFINITY
                      ? "no limit"
                      : "at most " + std::to_string(limit / rule.unit) + rule.unit_text,
                  enough ? "" : rule.advice});
}

void examine_shared_memory(findings& into, surroundings const& around) {
  auto const room = around.room_in(around.root / "dev/shm");
  constexpr std::uint64_t enough = 256 * mib;  // containers often have 64 MiB
  bool const little = !room || room->free_bytes < enough;
  into.push_back({little ? grades::note : grades::ok, "/dev/shm",
                  room ? std::to_string(room->free_bytes / mib) + " MiB free of " +
                             std::to_string(room->all_bytes / mib) + " MiB"
                       : "does not exist",
                  little ? "flotilla does not use it, but MPI and NCCL do: docker run "
                           "--shm-size=1g, or mount -o remount,size=1g /dev/shm"
                         : ""});
}

void examine_memory_files(findings& into, surroundings const& around) {
  std::string value;
  std::ifstream{around.root / "proc/sys/vm/memfd_noexec"} >> value;
  if (value.empty()) { return; }  // Linux before 6.3
  bool const refused = value == "2";
  into.push_back({refused ? grades::warning : grades::ok, "memory files",
                  "vm.memfd_noexec is " + value +
                      (refused ? ": memory files that could be executed are refused" : ""),
                  refused
                      ? "if kernels of CPU devices or isolated devices do not start, run sysctl "
                        "vm.memfd_noexec=1 as administrator"
                      : ""});
}

}  // namespace

surroundings real_surroundings(flotilla::driver_report const& drivers) {
  surroundings made;
  made.variable = [](char const* name) {
    char const* const value = std::getenv(name);
    return std::string{value == nullptr ? "" : value};
  };
  for (flotilla::device const& each : drivers.devices) {
    if (drivers.gpus) { made.gpus.push_back(each.uuid); }
  }
  cpu_set_t may{};
  made.all_processors = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  made.processors =
      ::sched_getaffinity(0, sizeof may, &may) == 0 ? CPU_COUNT(&may) : made.all_processors;
  made.limit = [](int resource) {
    rlimit limit{};
    return ::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0
               ? std::uint64_t{limit.rlim_cur}
               : std::uint64_t{RLIM_INFINITY};
  };
  made.room_in = [](std::filesystem::path const& folder) -> std::optional<surroundings::room> {
    struct statvfs about {};
    if (::statvfs(folder.c_str(), &about) != 0) { return {}; }
    return surroundings::room{about.f_bavail * about.f_frsize, about.f_blocks * about.f_frsize};
  };
  made.process = ::getpid();
  return made;
}

void examine_limits(findings& into, surroundings const& around) {
  bool const gpus = !around.gpus.empty();
  for (limit_rule const& each : rules) {
    bool const is_space = each.resource == RLIMIT_AS;
    if (is_space && each.needs_gpus != gpus) { continue; }
    examine_limit(into, each, around.limit(each.resource));
  }
  examine_shared_memory(into, around);
  examine_memory_files(into, around);
}

}  // namespace tool
