// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program with an isolated device, for refused_calls_test.cpp. It uses the device once while a
// system call is refused, and then three times more. Prints how the first use ended.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
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
  } catch (std::bad_alloc const&) {
    return "error: mmap, which other layers call, too, without a reason";
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

/// Waits until the device has its worker and its spare, and nothing else.
void steady() {
  for (int i = 0; i < 500 && children() != 2; ++i) { ::usleep(20'000); }
  ::usleep(200'000);  // the owner closes the descriptors of processes that have ended
}

}  // namespace

int run() {
  ::alarm(100);
  auto const refuse =
      reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "flotilla_test_refuse"));
  if (refuse != nullptr) { refuse(1); }
  std::vector<std::string> found{outcome()};
  if (refuse != nullptr) { refuse(0); }
  std::printf("%s\n", found[0].c_str());
  std::fflush(stdout);
  if (std::getenv("FLOTILLA_TEST_REFUSED_ALWAYS") != nullptr) { return 0; }
  found.push_back(outcome());
  steady();
  std::size_t const before = open_descriptors();
  for (int i = 0; i < 2; ++i) { found.push_back(outcome()); }
  // A worker that stood by may refuse its call in a later use.
  auto const right = std::count(found.begin(), found.end(), "right");
  if (right < 3 || found.back() != "right") {
    for (std::string const& each : found) { std::printf("one of four: %s\n", each.c_str()); }
    return 3;
  }
  steady();
  if (open_descriptors() > before || children() > 2) {
    std::printf("later: %zu descriptors, before %zu; %zu processes\n", open_descriptors(), before,
                children());
    return 4;
  }
  bool const is_wrong = std::any_of(found.begin(), found.end(),
                                    [](auto const& each) { return each.rfind("WRONG", 0) == 0; });
  return is_wrong ? 5 : 0;
}

}  // namespace flotilla::test

int main() { return flotilla::test::run(); }
