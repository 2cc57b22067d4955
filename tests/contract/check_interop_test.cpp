// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of the order beside streams and events of the application.

#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/application.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class CheckInterop : public guest_test {
 protected:
  static runtime_options with_checks() {
    return {.devices = device_spec(1), .workers = 1, .checks = checks{.order = true}};
  }
};

// requirement: a stream of the application may order two tasks, which the check cannot see. So
// there is no report after enqueue_wait
TEST_F(CheckInterop, StreamsOfTheApplicationMayOrderTasks) {
  application app;
  CUstream const stream = app.make_stream();
  CUevent const event = app.make_event();
  runtime rt{with_checks()};
  test_program const program{rt};
  device_buffer<std::uint32_t> data{rt, device_ordinal{0}, 8};
  auto const write = program.write.with_shape({1}, {1})(data, 7u);
  ticket const first = rt.submit(write);
  enqueue_wait(first, stream);
  app.record(event, stream);
  ticket const second = rt.submit(write, {.after = {rt.submit(event)}});
  second.wait();
}

// requirement: the check covers adopted kernels, memory of the application, and paths through
// events
TEST_F(CheckInterop, MemoryOfTheApplicationIsChecked) {
  application app;
  CUdeviceptr memory = 0;
  app.inside([&] { return driver_in_use().mem_alloc(&memory, 32); });
  CUevent const event = app.make_event();
  {
    runtime rt{with_checks()};
    test_program const program{rt};
    auto const view =
        view_device_memory(rt, device_ordinal{0}, reinterpret_cast<std::uint32_t*>(memory), 8);
    auto const write = program.write.with_shape({1}, {1})(view, 7u);
    ticket const first = rt.submit(write, {.label = "one"});
    EXPECT_THAT(thrown<missing_dependency>([&] { (void)rt.submit(write, {.label = "two"}); }),
                AllOf(HasSubstr("one"), HasSubstr("two")));
    ticket const between = rt.submit(event, {.after = {first}});
    ticket const second = rt.submit(write, {.after = {between}});
    second.wait();
  }
  app.inside([&] { return driver_in_use().mem_free(memory); });
}

}  // namespace
}  // namespace flotilla::test
