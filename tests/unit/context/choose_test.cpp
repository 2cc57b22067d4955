// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which devices a device specification chooses: every form of specification and every error. Each
// test runs in a child process. The process has either three CPU devices that pose as GPUs, or no
// GPU driver.

#include <flotilla/error/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "context/description.hpp"
#include "support/child.hpp"
#include "support/thrown.hpp"

namespace flotilla::context {
namespace {

using test::AllOf;
using test::HasSubstr;
using test::thrown;

void with_three_gpus() {
  setenv("FLOTILLA_LIBCUDA", FLOTILLA_TEST_GUISE, 1);
  setenv("FLOTILLA_DEVICES", "cpu:3", 1);  // read by the CPU driver that poses as a GPU driver
}
void without_gpus() {
  setenv("FLOTILLA_LIBCUDA", "/no/such/libcuda.so.1", 1);
  unsetenv("FLOTILLA_DEVICES");
}

/// Returns the driver's ordinals of the chosen devices. Checks that flotilla's own ordinals are 0,
/// 1, 2 and so on.
std::vector<int> chosen(std::string const& specification) {
  std::vector<int> made;
  for (device const& each : choose(specification).devices) {
    EXPECT_EQ(each.ordinal.value, made.size());
    made.push_back(each.driver_ordinal);
  }
  return made;
}
using ordinals = std::vector<int>;

template <class Error>
std::string refused(std::string const& specification) {
  SCOPED_TRACE(specification);
  return thrown<Error>([&] { static_cast<void>(choose(specification)); });
}

// regression: found by a fuzzer. The marks of ended tasks have eight bits for the device
TEST(Choose, RefusesTooManyDevices) {
  EXPECT_THAT(refused<unknown_device>("cpu:60/green:1*836"),
              AllOf(HasSubstr("makes 836 devices"), HasSubstr("at most 255")));
  EXPECT_THAT(refused<unknown_device>("cpu:2/green:1*128"), HasSubstr("makes 256 devices"));
  EXPECT_EQ(choose("cpu:1/green:1*255").devices.size(), 255u);
}

// requirement
TEST(Choose, TakesGpusByOrdinal) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    EXPECT_EQ(chosen("cuda"), (ordinals{0, 1, 2}));
    EXPECT_EQ(chosen("cuda:1"), (ordinals{1}));
    EXPECT_EQ(chosen("cuda:0,2"), (ordinals{0, 2}));
    EXPECT_EQ(chosen("cuda:2,0"), (ordinals{2, 0}))
        << "the order of the specification must be kept";
    EXPECT_EQ(chosen("cuda:2,cuda:1"), (ordinals{2, 1}));
    EXPECT_EQ(chosen(" cuda:0 , 2 "), (ordinals{0, 2}));
    EXPECT_EQ(choose("cuda").api->kind, device_kind::gpu);
    EXPECT_THAT(choose("cuda").text, AllOf(HasSubstr("CUDA"), HasSubstr(FLOTILLA_TEST_GUISE)));
  });
}

// requirement
TEST(Choose, CountsAGpuOnceHoweverOftenItIsNamed) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    EXPECT_EQ(chosen("cuda:1,1,1"), (ordinals{1}));
    EXPECT_EQ(chosen("cuda:1,cuda"), (ordinals{1, 0, 2}));
    device const last = choose("cuda:2").devices[0];
    EXPECT_EQ(chosen(last.uuid + "," + last.pci_id + ",cuda:2"), (ordinals{2}));
  });
}

// requirement: a GPU can be named by its UUID or PCI id, in upper or lower case
TEST(Choose, TakesGpusByUuidAndPciId) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    std::vector<device> const all = choose("cuda").devices;
    ASSERT_EQ(all.size(), 3u);
    for (device const& each : all) {
      EXPECT_EQ(each.uuid.substr(0, 4), "GPU-");
      for (std::string name : {each.uuid, each.pci_id}) {
        EXPECT_EQ(chosen(name), (ordinals{each.driver_ordinal})) << name;
        std::transform(name.begin() + 4, name.end(), name.begin() + 4,
                       [](unsigned char c) { return std::toupper(c); });
        EXPECT_EQ(chosen(name), (ordinals{each.driver_ordinal})) << name;
      }
    }
    EXPECT_EQ(chosen(all[2].uuid + "," + all[0].pci_id), (ordinals{2, 0}));
  });
}

// requirement: the error names the unknown GPU and lists all GPUs
TEST(Choose, RefusesMissingGpus) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    std::string const listing = choose("cuda:1").devices[0].uuid;
    for (char const* const part :
         {"cuda:3", "cuda:99999999999", "cuda:x", "cuda:-1", "cuda:1x",
          "cuda:", "GPU-00000000-0000-0000-0000-000000000000", "ffff:ff:1f.7"}) {
      EXPECT_THAT(refused<unknown_device>(part), AllOf(HasSubstr(part), HasSubstr(listing)));
      std::string const whole = "cuda:0," + std::string{part};
      EXPECT_THAT(refused<unknown_device>(whole),
                  AllOf(HasSubstr("'" + whole + "'"), HasSubstr(part)));
    }
    EXPECT_THAT(refused<unknown_device>("cuda:0,7"), HasSubstr("'7'"));
  });
}

// requirement: unknown words are refused, whether or not there are GPUs
TEST(Choose, RefusesInvalidWords) {
  auto const refuses = [] {
    for (char const* const part :
         {"banana", "gpu", "2", "-1", "CUDA", "CPU:2", "cuda0", "cpu0", "cpu:2 cpu:3"}) {
      EXPECT_THAT(refused<unknown_device>(part), HasSubstr("'" + std::string{part} + "'"));
    }
    for (char const* const whole :
         {"cuda:0,banana", "banana,cuda:0", "2,cuda:0", ",", "cuda,", ",cuda"}) {
      EXPECT_THAT(refused<unknown_device>(whole), HasSubstr("'" + std::string{whole} + "'"));
    }
  };
  FLOTILLA_EXPECT_IN_CHILD([refuses] {
    with_three_gpus();
    refuses();
  });
  FLOTILLA_EXPECT_IN_CHILD([refuses] {
    without_gpus();
    refuses();
  });
}

// requirement: all devices of a runtime use the same driver
TEST(Choose, RefusesToMixDrivers) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    for (char const* const whole : {"cpu,cuda", "cuda:0,cpu:2", "auto,cuda", "cuda,auto"}) {
      EXPECT_THAT(refused<unknown_device>(whole), HasSubstr("cannot be combined"));
    }
    for (char const* const whole : {"cpu,cpu", "cpu:2,cpu:3", "cpu:2/green:1,cpu"}) {
      EXPECT_THAT(refused<unknown_device>(whole), HasSubstr("a second request for CPU devices"));
    }
    for (char const* const whole : {"cpu:2,", ",cuda:0", "cuda:0,,cuda:1"}) {
      EXPECT_THAT(refused<unknown_device>(whole), HasSubstr("leave it out"));
    }
  });
}

// requirement
TEST(Choose, TakesCpuDevicesByCount) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    without_gpus();
    EXPECT_EQ(chosen("cpu:1"), (ordinals{0}));
    EXPECT_EQ(chosen("cpu:4"), (ordinals{0, 1, 2, 3}));
    EXPECT_EQ(chosen(" cpu:2 "), (ordinals{0, 1}));
    EXPECT_EQ(chosen("cpu:64").size(), 64u);
    EXPECT_GE(chosen("cpu").size(), 1u);
    EXPECT_EQ(choose("cpu:2").api->kind, device_kind::cpu);
    for (char const* const part :
         {"cpu:0", "cpu:65", "cpu:-1", "cpu:x", "cpu:", "cpu:4x", "cpu:99999999999999999999"}) {
      EXPECT_THAT(refused<unknown_device>(part), AllOf(HasSubstr(part), HasSubstr("64")));
    }
  });
}

// requirement: `auto` chooses GPUs. If there are none, `auto` chooses CPU devices, and choice::text
// gives the reason.
TEST(Choose, AutoTakesGpusIfThereAreAny) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    with_three_gpus();
    EXPECT_EQ(chosen("auto"), (ordinals{0, 1, 2}));
    EXPECT_EQ(choose("auto").api->kind, device_kind::gpu);
  });
  FLOTILLA_EXPECT_IN_CHILD([] {
    without_gpus();
    choice const made = choose("auto");
    EXPECT_EQ(made.api->kind, device_kind::cpu);
    EXPECT_FALSE(made.devices.empty());
    EXPECT_THAT(made.text, AllOf(HasSubstr("CPU"), HasSubstr("/no/such/libcuda.so.1")));
  });
}

// requirement: if a GPU is requested and missing, this is an error. No CPU device replaces the GPU.
TEST(Choose, ReportsWhyThereAreNoGpus) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    without_gpus();
    for (char const* const whole : {"cuda", "cuda:0", "cuda:0,1",
                                    "GPU-00000000-0000-0000-0000-000000000000", "0000:01:00.0"}) {
      EXPECT_THAT(refused<no_device>(whole),
                  AllOf(HasSubstr(whole), HasSubstr("/no/such/libcuda.so.1")));
    }
  });
}

// requirement: an empty specification means the specification in FLOTILLA_DEVICES
TEST(Choose, ReadsTheEnvironment) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    without_gpus();
    EXPECT_EQ(choose("").api->kind, device_kind::cpu);
    setenv("FLOTILLA_DEVICES", "cpu:3", 1);
    EXPECT_EQ(chosen("").size(), 3u);
    EXPECT_EQ(chosen("cpu:2").size(), 2u) << "an explicit specification overrides the environment";
    setenv("FLOTILLA_DEVICES", "", 1);
    EXPECT_FALSE(chosen("").empty());
    setenv("FLOTILLA_DEVICES", "banana", 1);
    EXPECT_THAT(refused<unknown_device>(""), HasSubstr("banana"));
  });
}

}  // namespace
}  // namespace flotilla::context
