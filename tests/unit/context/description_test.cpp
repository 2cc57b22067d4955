// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/description.hpp"

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class Description : public context_test {};

// requirement
TEST_F(Description, HasTheDriversValues) {
  device const made = describe(*api(), 1);
  EXPECT_EQ(made.kind, device_kind::cpu);
  EXPECT_EQ(made.driver_ordinal, 1);
  EXPECT_FALSE(made.name.empty());
  using ::testing::MatchesRegex;
  EXPECT_THAT(made.uuid, MatchesRegex("CPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
  EXPECT_THAT(made.pci_id, MatchesRegex("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]"));
  EXPECT_GT(made.multiprocessors, 0);
  EXPECT_GT(made.memory_bytes, 0u);
}

// requirement
TEST_F(Description, NumbersDevicesInTheDriversOrder) {
  std::vector<device> const all = describe_all(*api(), 2);
  ASSERT_EQ(all.size(), 2u);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].ordinal.value, i);
    EXPECT_EQ(all[i].driver_ordinal, static_cast<int>(i));
  }
  EXPECT_NE(all[0].uuid, all[1].uuid);
  EXPECT_NE(all[0].pci_id, all[1].pci_id);
}

// requirement: if a call fails, the error names the device and the call
TEST_F(Description, ThatTheDriverRefusesNamesTheCall) {
  for (char const* const call :
       {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceGetPCIBusId",
        "cuDeviceGetAttribute", "cuDeviceTotalMem"}) {
    testing::fail_call(call, 1, driver_status::unknown);
    EXPECT_THAT(thrown<driver_error>([] { static_cast<void>(describe(*api(), 1)); }),
                test::AllOf(HasSubstr(call), HasSubstr("device 1")));
    testing::clear_faults();
  }
}

}  // namespace
}  // namespace flotilla::context
