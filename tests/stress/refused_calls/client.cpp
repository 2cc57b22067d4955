// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program with an isolated device, for refused_calls_test.cpp. It uses the device once while a
// system call is refused, and then twice more. Prints how the first use ended.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

void use_device() {
  runtime_options options{.devices = "cpu:1", .workers = 0, .restart = {.intensity = 1000}};
  options.settings.all.isolation = isolation::process;
  runtime rt{options};
  test_program const program{rt};
  device_buffer<word> sum{rt, rt.devices()[0], 100'000};
  host_buffer<word> pinned{rt, 100'000};
  ticket const filled = rt.submit(sum.fill(1));
  rt.submit(program.add.with_shape({1}, {1})(sum, 2u), {.after = {filled}}).wait();
  rt.submit(sum.copy_to(pinned)).wait();
  testing::kill_worker(rt, rt.devices()[0].ordinal);
  rt.submit(program.add.with_shape({1}, {1})(sum, 4u), {.repeatable = true}).wait();
  std::vector<word> found(100'000);
  rt.submit(sum.copy_to(std::span{found})).wait();
  if (pinned[0] != 3 || found[0] < 7) { throw std::logic_error{"the result is wrong"}; }
}

/// @return "right", or the error
std::string outcome() {
  try {
    use_device();
    return "right";
  } catch (error const& why) {
    return std::string{"error: "} + why.what();
  } catch (std::exception const& why) { return std::string{"WRONG: "} + why.what(); }
}

std::size_t open_descriptors() {
  auto const all = std::filesystem::directory_iterator{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t children() {
  std::size_t found = 0;
  for (auto const& each : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream list{each.path() / "children"};
    for (pid_t child = 0; list >> child;) { ++found; }
  }
  return found;
}

}  // namespace

int run() {
  ::alarm(100);
  auto const refuse =
      reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "flotilla_test_refuse"));
  if (refuse != nullptr) { refuse(1); }
  std::string const first = outcome();
  if (refuse != nullptr) { refuse(0); }
  std::printf("%s\n", first.c_str());
  std::fflush(stdout);
  if (std::getenv("FLOTILLA_TEST_REFUSED_ALWAYS") != nullptr) { return 0; }
  std::string const second = outcome();
  std::size_t const before = open_descriptors();
  std::string const third = outcome();
  if (second != "right" || third != "right") {
    std::printf("later: %s; %s\n", second.c_str(), third.c_str());
    return 3;
  }
  // The spare of the device may just be starting.
  for (int i = 0; i < 200 && (open_descriptors() > before || children() > 2); ++i) {
    ::usleep(20'000);
  }
  if (open_descriptors() > before || children() > 2) {
    std::printf("later: %zu descriptors, before %zu; %zu processes\n", open_descriptors(), before,
                children());
    return 4;
  }
  return first.rfind("WRONG", 0) == 0 ? 5 : 0;
}

}  // namespace flotilla::test

int main() { return flotilla::test::run(); }
