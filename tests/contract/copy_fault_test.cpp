// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies and fills that the driver refuses.

#include <cstdint>
#include <string>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class CopyFault : public contract_test {
 protected:
  void TearDown() override {
    testing::clear_faults();
    contract_test::TearDown();
  }
  /// Makes the driver refuse the next call of `entry`.
  /// @return the error of the task `what`.
  std::string refused(char const* entry, memory_op const& what) {
    testing::fail_call(entry, 1, driver_status::invalid_value);
    ticket const bad = rt().submit(what, {.label = "bad"});
    std::string const message = thrown<driver_error>([&] { bad.wait(); });
    testing::clear_faults();
    return message;
  }
};
FLOTILLA_CONTRACT(CopyFault);

// regression: the error named neither the direction nor the number of bytes
TEST_P(CopyFault, ErrorNamesTheDirectionTheBytesAndTheDriverCall) {
  FLOTILLA_NEED_CPU_DRIVER();
  using words = device_buffer<std::uint32_t>;
  words here{rt(), first(), 3};
  words same{rt(), first(), 3};
  words there{rt(), last(), 3};
  host_buffer<std::uint32_t> pinned{rt(), 3};
  std::vector<std::uint32_t> pageable(3);
  auto const expect = [](std::string const& message, char const* entry, char const* task) {
    EXPECT_THAT(message, AllOf(StartsWith(entry), HasSubstr(task), HasSubstr("label 'bad'"),
                               HasSubstr("CUDA_ERROR_INVALID_VALUE")));
  };
  char const* entry = "cuMemcpyHtoDAsync";
  expect(refused(entry, here.copy_from(pinned)), entry, "a copy of 12 bytes from the host, ");
  expect(refused(entry, here.copy_from(pageable)), entry, "a copy of 12 bytes from the host, ");
  entry = "cuMemcpyDtoHAsync";
  expect(refused(entry, here.copy_to(pinned)), entry, "a copy of 12 bytes to the host, ");
  expect(refused(entry, here.copy_to(pageable)), entry, "a copy of 12 bytes to the host, ");
  entry = "cuMemcpyDtoDAsync";
  expect(refused(entry, here.copy_to(same)), entry, "a copy of 12 bytes within the device, ");
  entry = "cuMemsetD32Async";
  expect(refused(entry, here.fill(7)), entry, "a fill of 12 bytes, ");
  if (device_count() > 1) {
    entry = "cuMemcpyPeerAsync";
    expect(refused(entry, here.copy_to(there)), entry, "a copy of 12 bytes from device 0, ");
  }
  rt().submit(here.fill(8)).wait();
}

}  // namespace
}  // namespace flotilla::test
