// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of the order and failed tasks: a program that learns of a failure may repeat the work.

#include <atomic>
#include <optional>

#include <flotilla/flotilla.hpp>

#include "support/device_names.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class CheckOrderFailure : public guest_test {
 protected:
  void start(runtime_options options) {
    options.devices = device_spec(1);
    options.checks = checks{.order = true};
    rt_.emplace(std::move(options));
    program_.emplace(*rt_);
    data_.emplace(*rt_, device_0, 8);
  }
  void TearDown() override {
    data_.reset();
    program_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  /// A launch that writes to the data. Every driver refuses it, because it asks for 64 MiB of
  /// dynamic shared memory.
  launch failing() { return program_->write.with_shape({1}, {1}, 64u << 20)(*data_, 1u); }
  launch succeeding() { return program_->write.with_shape({1}, {1})(*data_, 1u); }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
  std::optional<device_buffer<std::uint32_t>> data_;
};

// requirement: a wait that throws has observed the end of its task
TEST_F(CheckOrderFailure, WaitThatThrowsPreventsReports) {
  start({});
  ticket const failed = rt_->submit(failing());
  EXPECT_NE(thrown<driver_error>([&] { failed.wait(); }), "");
  rt_->submit(succeeding()).wait();
}

// requirement: the handler of posted tasks gets no name of the task, but it knows of a failure
TEST_F(CheckOrderFailure, HandlerOfPostedTasksPreventsReports) {
  std::atomic<int> done{0};
  start({.on_error = [&](std::exception_ptr) {
    rt_->submit(succeeding()).wait();
    ++done;
  }});
  rt_->post(failing());
  EXPECT_TRUE(eventually([&] {
    rt_->pump();
    return done == 1;
  }));
}

}  // namespace
}  // namespace flotilla::test
