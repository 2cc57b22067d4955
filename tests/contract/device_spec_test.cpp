// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Device specifications and the devices that they select.

#include <cstdlib>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class DeviceSpec : public guest_test {
 protected:
  static std::size_t count_of(std::string const& spec) {
    return runtime{{.devices = spec}}.devices().size();
  }
};

// requirement
TEST_F(DeviceSpec, CpuSpecGivesThatManyDevices) {
  EXPECT_EQ(count_of("cpu:1"), 1u);
  EXPECT_EQ(count_of("cpu:4"), 4u);
  EXPECT_GE(count_of("cpu"), 1u);
}

// requirement
TEST_F(DeviceSpec, InvalidSpecIsRefusedByName) {
  for (char const* const spec :
       {"banana", "cpu:0", "cpu:x", "cpu:-1", "cpu:4x", "cpu:", "cpu:99999999999999999999",
        "cuda:x", "cuda:-1", "gpu", "cpu:2,banana", "GPU-00000000-0000-0000-0000-000000000000",
        "ffff:ff:1f.7"}) {
    try {
      runtime const rt{{.devices = spec}};
      ADD_FAILURE() << spec << " was accepted as " << rt.devices().size() << " devices";
    } catch (unknown_device const& error) {
      std::string const offender = std::string{spec} == "cpu:2,banana" ? "banana" : spec;
      EXPECT_THAT(error.what(), HasSubstr(offender));
    } catch (no_device const& error) {
      EXPECT_FALSE(describe_drivers().gpus);
      EXPECT_THAT(spec, AnyOf(StartsWith("cuda"), StartsWith("GPU-"), HasSubstr(":1f.")))
          << "only the names of GPUs may throw no_device";
      EXPECT_THAT(error.what(), HasSubstr(spec));
    }
  }
}

// requirement: if a GPU does not exist, the error names the GPU. If there is no usable GPU, the
// error says why
TEST_F(DeviceSpec, MissingGpuIsReported) {
  try {
    runtime const rt{{.devices = "cuda:99"}};
    ADD_FAILURE() << "a runtime was created on GPU 99, which does not exist";
  } catch (unknown_device const& error) {
    EXPECT_THAT(error.what(), HasSubstr("99"));
  } catch (no_device const& error) {
    EXPECT_FALSE(std::string{error.what()}.empty());
    EXPECT_EQ(describe_drivers().gpus, false);
  }
}

// requirement: the UUIDs and PCI ids that `flotilla devices` prints can select GPUs
TEST_F(DeviceSpec, UuidsAndPciIdsNameGpus) {
  FLOTILLA_NEED_GPUS(1);
  std::string uuid, pci;
  {
    runtime const rt{{.devices = device_spec(1)}};
    uuid = rt.devices()[0].uuid;
    pci = rt.devices()[0].pci_id;
  }
  runtime const by_uuid{{.devices = uuid}};
  ASSERT_EQ(by_uuid.devices().size(), 1u);
  EXPECT_EQ(by_uuid.devices()[0].uuid, uuid);
  runtime const by_pci{{.devices = pci}};
  ASSERT_EQ(by_pci.devices().size(), 1u);
  EXPECT_EQ(by_pci.devices()[0].uuid, uuid);
}

// requirement
TEST_F(DeviceSpec, OrderIsKeptAndNoGpuIsTakenTwice) {
  FLOTILLA_NEED_GPUS(2);
  std::string uuids[2];
  {
    runtime const rt{{.devices = device_spec(2)}};
    for (unsigned i = 0; i < 2; ++i) { uuids[i] = rt.devices()[i].uuid; }
  }
  ASSERT_NE(uuids[0], uuids[1]);
  runtime const reordered{{.devices = uuids[1] + "," + uuids[0] + "," + uuids[1]}};
  ASSERT_EQ(reordered.devices().size(), 2u);
  EXPECT_EQ(reordered.devices()[0].uuid, uuids[1]);
  EXPECT_EQ(reordered.devices()[1].uuid, uuids[0]);
  EXPECT_EQ(reordered.devices()[0].ordinal.value, 0u);
  runtime const by_number{{.devices = "cuda:1,0,1"}};
  ASSERT_EQ(by_number.devices().size(), 2u);
  EXPECT_EQ(by_number.devices()[0].uuid, uuids[1]);
}

// requirement
TEST_F(DeviceSpec, EnvironmentAppliesIfCodeNamesNoDevices) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    setenv("FLOTILLA_DEVICES", "cpu:3", 1);
    EXPECT_EQ(runtime{}.devices().size(), 3u);
    EXPECT_EQ((runtime{{.devices = "cpu:2"}}).devices().size(), 2u)
        << "devices named in code must override the environment";
    setenv("FLOTILLA_DEVICES", "cucumber", 1);
    EXPECT_THAT(thrown<unknown_device>([] { runtime const rt{}; }), HasSubstr("cucumber"));
  });
}

// requirement: without a specification, a runtime uses GPUs if there are any, else CPU devices
TEST_F(DeviceSpec, EmptySpecFindsADevice) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    unsetenv("FLOTILLA_DEVICES");
    runtime rt;
    EXPECT_FALSE(rt.devices().empty());
    EXPECT_EQ(rt.devices()[0].kind == device_kind::gpu, describe_drivers().gpus);
    int ran = 0;
    rt.submit([&](task_context&) { ++ran; }).wait();
    EXPECT_EQ(ran, 1);
  });
}

}  // namespace
}  // namespace flotilla::test
