// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "processor_time.hpp"

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace flotilla::bench {

namespace {

/// Returns a number that changes whenever another thread of this process runs or is ready to run.
/// The number adds up how often these threads were scheduled and how long they have waited for a
/// processor.
unsigned long long activity_of_others() {
  unsigned long long all = 0;
  for (auto const& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (thread.path().filename() == std::to_string(gettid())) { continue; }
    std::ifstream file{thread.path() / "schedstat"};
    unsigned long long ran = 0, waited = 0, turns = 0;
    if (file >> ran >> waited >> turns) { all += turns + waited; }
  }
  return all;
}

double seconds_of(clockid_t which) {
  timespec now{};
  clock_gettime(which, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double processor_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double processor_seconds_of_others() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

void settle(std::chrono::milliseconds settling, std::chrono::milliseconds max_settling) {
  auto const begin = clock::now();
  for (unsigned long long before = activity_of_others();;) {
    std::this_thread::sleep_for(settling);
    unsigned long long const now = activity_of_others();
    if (now == before || clock::now() - begin > max_settling) { return; }
    before = now;
  }
}

}  // namespace flotilla::bench
