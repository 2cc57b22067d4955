// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "processor_time.hpp"

#include <sys/resource.h>
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

}  // namespace

double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto const seconds = [](timeval const& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
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
