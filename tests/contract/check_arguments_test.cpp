// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of arguments: submit refuses each pointer that the device of the launch cannot access.

#include <optional>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/device_names.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class CheckArguments : public guest_test {
 protected:
  void start(int devices) {
    rt_.emplace(
        runtime_options{.devices = device_spec(devices), .checks = checks{.arguments = true}});
    program_.emplace(*rt_);
  }
  void TearDown() override {
    program_.reset();
    rt_.reset();
    testing::clear_faults();
    guest_test::TearDown();
  }
  runtime& rt() { return *rt_; }
  launch write(std::uint32_t* where) const {
    return program_->write.with_shape({1}, {1})(where, 7u);
  }
  std::string refused(std::uint32_t* where, task_options const& options = {}) {
    return thrown<invalid_argument>([&] { static_cast<void>(rt().submit(write(where), options)); });
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
};

// requirement
TEST_F(CheckArguments, PointerToMemoryOfTheHostIsRefused) {
  FLOTILLA_NEED_CPU_DRIVER();  // some GPUs can access all memory of the host
  start(1);
  std::uint32_t on_host = 3;
  EXPECT_THAT(refused(&on_host, {.label = "step 3"}),
              AllOf(HasSubstr("kernel 'write_value', label 'step 3': argument 0 ("),
                    HasSubstr("*) is address 0x"), HasSubstr("pageable memory of the host"),
                    HasSubstr("device 0 ("), HasSubstr("device_buffer")));
  EXPECT_EQ(on_host, 3u);
}

// requirement: the argument is named by its number and its type
TEST_F(CheckArguments, SecondPointerIsRefusedByItsNumber) {
  start(1);
  device_buffer<std::uint32_t> good{rt(), device_0, 1};
  auto const* const bad = reinterpret_cast<std::uint32_t const*>(std::uintptr_t{0x100});
  EXPECT_THAT(thrown<invalid_argument>([&] {
                static_cast<void>(rt().submit(program_->copy.with_shape({1}, {1})(good, bad)));
              }),
              AllOf(HasSubstr("argument 1 ("), HasSubstr("const"), HasSubstr("address 0x100"),
                    HasSubstr("no memory has this address")));
}

// requirement
TEST_F(CheckArguments, FreedPointerIsRefused) {
  start(1);
  std::uint32_t* where = nullptr;
  {
    device_buffer<std::uint32_t> gone{rt(), device_0, 1};
    where = gone.data();
  }
  // The runtime frees the memory in one of its next passes.
  EXPECT_THAT(refused(where), HasSubstr("address 0x"));
  rt().wait_idle();
  EXPECT_THAT(refused(where), HasSubstr("address 0x"));
}

// requirement: while an older task is open, the driver still knows the memory of a destroyed buffer
TEST_F(CheckArguments, PointerOfADestroyedBufferIsRefusedWhileTasksAreOpen) {
  start(1);
  held_word held{rt()};
  ticket const open = rt().submit(held.launch_of(*program_));
  std::uint32_t* where = nullptr;
  {
    device_buffer<std::uint32_t> gone{rt(), device_0, 1};
    where = gone.data();
  }
  EXPECT_THAT(refused(where), HasSubstr("a buffer that was destroyed"));
  held.release();
  open.wait();
}

// requirement
TEST_F(CheckArguments, PointerOfAnotherDeviceIsRefusedIfTheDevicesAreNotPeers) {
  FLOTILLA_NEED_CPU_DRIVER();
  testing::separate_peers(testing::cpu_device{0}, testing::cpu_device{1});
  start(2);
  device_buffer<std::uint32_t> there{rt(), device_1, 1};
  EXPECT_THAT(refused(there.data(), {.device = device_0}),
              AllOf(HasSubstr("in the memory of device 1 ("), HasSubstr("runs on device 0 ("),
                    HasSubstr("enable_peer")));
  rt().submit(write(there.data()), {.device = device_1}).wait();
  device_buffer<std::uint32_t> here{rt(), device_0, 1};
  rt().submit(write(here.data()), {.device = device_1}).wait();
}

// requirement: the runtime has enabled the access
TEST_F(CheckArguments, PointerOfAPeerIsAccepted) {
  FLOTILLA_NEED_DEVICES(2);
  start(2);
  if (!can_access_peer(rt(), device_0, device_1)) {
    GTEST_SKIP() << "needs two devices that are peers";
  }
  device_buffer<std::uint32_t> there{rt(), device_1, 1};
  rt().submit(write(there.data()), {.device = device_0}).wait();
}

// requirement
TEST_F(CheckArguments, TaskForAnyDeviceMustNotUseMemoryOfOneDevice) {
  FLOTILLA_NEED_DEVICES(2);
  start(2);
  device_buffer<std::uint32_t> there{rt(), device_1, 1};
  EXPECT_THAT(refused(there.data()),
              AllOf(HasSubstr("in the memory of device 1 ("), HasSubstr("any device may take"),
                    HasSubstr("set task_options::device to 1")));
  rt().submit(program_->write.with_shape({1}, {1})(there, 7u)).wait();
}

// requirement: the check accepts every valid argument
TEST_F(CheckArguments, ValidPointersAreAccepted) {
  start(1);
  device_buffer<std::uint32_t> buffer{rt(), device_0, 8};
  host_buffer<std::uint32_t> pinned{rt(), 8};
  rt().submit(program_->write.with_shape({1}, {1})(buffer, 1u)).wait();
  rt().submit(program_->write.with_shape({1}, {1})(buffer.subspan(3), 1u)).wait();
  rt().submit(write(buffer.data() + 7)).wait();
  rt().submit(write(pinned.data() + 7)).wait();
  EXPECT_EQ(pinned[7], 7u);
  // The kernel does not use the null pointer, because the launch is only checked.
  recording tasks{rt()};
  tasks.add(write(nullptr));
}

// requirement
TEST_F(CheckArguments, RecordedLaunchesAreChecked) {
  start(1);
  recording tasks{rt()};
  auto* const bad = reinterpret_cast<std::uint32_t*>(std::uintptr_t{0x100});
  EXPECT_THAT(thrown<invalid_argument>([&] { tasks.add(write(bad)); }),
              HasSubstr("no memory has this address"));
  EXPECT_EQ(tasks.size(), 0u);
}

// requirement: a refused launch takes no slot and does not disturb other tasks
TEST_F(CheckArguments, RuntimeStaysUsableAfterRefusals) {
  start(1);
  auto* const bad = reinterpret_cast<std::uint32_t*>(std::uintptr_t{0x100});
  device_buffer<std::uint32_t> good{rt(), device_0, 1};
  for (int i = 0; i < 1000; ++i) { EXPECT_NE(refused(bad), ""); }
  rt().submit(write(good.data())).wait();
  // A task that has ended may be open until the worker that drives its device has looked.
  EXPECT_TRUE(eventually([&] { return !rt().pump(); })) << "a refused task has kept its slot";
}

}  // namespace
}  // namespace flotilla::test
