// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does the C interface add to a submit?
// Control:  the same launches, with the interface for C++.
//
// Each launch is made anew, with two arguments, and its ticket is released. See submits.cpp.

#include <flotilla/flotilla.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <flotilla_kernels.h>

#include "bench_suite.hpp"
#include "burst.hpp"
#include "cached_fixture.hpp"
#include "machine.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

void check_c(flotilla_status status) {
  if (status != FLOTILLA_SUCCESS) { throw std::runtime_error(flotilla_last_error()); }
}

/// A runtime and a kernel of the C interface.
class c_fixture final : public cached_fixture {
 public:
  struct options {
    bool operator==(options const&) const = default;
  };
  explicit c_fixture(options const& wanted) : created_with{wanted} {
    std::string const devices = first_devices(1);
    flotilla_runtime_options how = FLOTILLA_RUNTIME_OPTIONS_INIT;
    how.devices = devices.c_str();
    how.workers = 0;
    check_c(flotilla_runtime_create(&how, &rt_));
    flotilla_program kernels{};
    check_c(flotilla_program_load(rt_, &flotilla_kernels_for_c, &kernels));
    check_c(flotilla_program_kernel(kernels, "store", &store_));
    check_c(flotilla_device_alloc(rt_, 0, sizeof(int), &word_));
  }
  c_fixture(c_fixture const&) = delete;
  c_fixture& operator=(c_fixture const&) = delete;
  ~c_fixture() override {
    flotilla_buffer_free(word_);
    flotilla_runtime_destroy(rt_);
  }
  void submit() const {
    int const value = 1;
    flotilla_argument const arguments[] = {flotilla_address(word_, 0), FLOTILLA_VALUE(value)};
    flotilla_ticket ticket;
    check_c(flotilla_submit_launch(store_, flotilla_over(1, 1), arguments, 2, nullptr, &ticket));
    check_c(flotilla_ticket_release(ticket));
  }
  void drain() const { check_c(flotilla_wait_idle(rt_)); }

  options const created_with;

 private:
  flotilla_runtime rt_{};
  flotilla_kernel store_{};
  flotilla_buffer word_{};
};

}  // namespace

void add_c_submits(bench_suite& suite) {
  std::int64_t const bursts = std::max<std::int64_t>(1, suite.amount().raw / burst);
  suite.measure("C++, submit with two arguments",
                {.who = "flotilla", .what = "submit", .backlog = burst}, [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({.workers = 0});
                  auto const store = fixture.kernels.kernel<int*, int>("store");
                  device_buffer<int> word{fixture.rt, device_ordinal{0}, 1};
                  double const ns = time_bursts(
                      bursts,
                      [&] { static_cast<void>(fixture.rt.submit(store.over(1, 1)(word, 1))); },
                      [&] { fixture.rt.wait_idle(); });
                  return ns;
                });
  suite.measure("C, submit with two arguments",
                {.who = "flotilla from C", .what = "submit", .backlog = burst}, [=](figure&) {
                  auto& fixture = get_fixture<c_fixture>({});
                  return time_bursts(
                      bursts, [&] { fixture.submit(); }, [&] { fixture.drain(); });
                });
  suite.compare({.id = "submit_c",
                 .subject = "C, submit with two arguments",
                 .control = "the same from C++",
                 .controls = {"C++, submit with two arguments"},
                 .max_ratio = 1.08});
}

}  // namespace flotilla::bench
