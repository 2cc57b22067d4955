// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Devices, cuGetProcAddress, and names of errors.
#include "driver_test.hpp"

#include <cstring>
#include <set>

#include "cpu_driver/api/resolver.hpp"

namespace flotilla::cpu_driver {
namespace {

using DeviceTest = DriverTest;

TEST_F(DeviceTest, MoreCanBeAddedAndEachIsDistinct) {
  control().ensure_devices(5);
  int count = 0;
  ASSERT_OK(cu::cuDeviceGetCount(&count));
  ASSERT_GE(count, 5);
  std::set<std::string> ids;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = -1;
    EXPECT_OK(cu::cuDeviceGet(&device, ordinal));
    CUuuid uuid{};
    EXPECT_OK(cu::cuDeviceGetUuid_v2(&uuid, device));
    ids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
    char bus[32] = "";
    EXPECT_OK(cu::cuDeviceGetPCIBusId(bus, sizeof bus, device));
    ids.insert(bus);
    CUdevice found = -1;
    EXPECT_OK(cu::cuDeviceGetByPCIBusId(&found, bus));
    EXPECT_EQ(found, device);
  }
  EXPECT_EQ(ids.size(), 2u * static_cast<unsigned>(count));
  CUdevice none = -1;
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuDeviceGet(&none, count));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuDeviceGet(&none, -1));
}

TEST_F(DeviceTest, HasTheAttributesOfAnH200ThatProgramsUse) {
  struct {
    CUdevice_attribute which;
    int value;
  } const expected[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
  };
  for (auto const& each : expected) {
    int value = -1;
    EXPECT_OK(cu::cuDeviceGetAttribute(&value, each.which, 0));
    EXPECT_EQ(value, each.value) << each.which;
  }
  int value = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(9999), 0));
  char name[64] = "";
  EXPECT_OK(cu::cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ(name, "flotilla CPU device");
}

TEST_F(DeviceTest, InitialisingAgainIsAllowedAndFlagsAreRefused) {
  EXPECT_OK(cu::cuInit(0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuInit(1));
  int version = 0;
  EXPECT_OK(cu::cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

TEST(Resolver, GivesTheNewestVersionNotAboveTheRequestedOne) {
  EXPECT_EQ(resolve("cuCtxCreate", 3020), reinterpret_cast<void*>(&cu::cuCtxCreate_v2));
  EXPECT_EQ(resolve("cuCtxCreate", 12000), reinterpret_cast<void*>(&cu::cuCtxCreate_v3));
  EXPECT_EQ(resolve("cuCtxCreate", 13000), reinterpret_cast<void*>(&cu::cuCtxCreate_v4));
  EXPECT_EQ(resolve("cuCtxCreate", 2000), nullptr);
  EXPECT_EQ(resolve("cuEventElapsedTime", 12080),
            reinterpret_cast<void*>(&cu::cuEventElapsedTime_v2));
  EXPECT_EQ(resolve("cuEventElapsedTime", 12000), reinterpret_cast<void*>(&cu::cuEventElapsedTime));
  EXPECT_EQ(resolve("cuNoSuchThing", 13000), nullptr);
}

TEST(Resolver, AnswersAsCuGetProcAddress) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult why{};
  EXPECT_OK(cu::cuGetProcAddress("cuInit", &found, 13000, 0, &why));
  EXPECT_EQ(found, reinterpret_cast<void*>(&cu::cuInit));
  EXPECT_EQ(why, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND,
                cu::cuGetProcAddress("cuLibraryLoadData", &found, 11000, 0, &why));
  EXPECT_EQ(why, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND,
                cu::cuGetProcAddress("cuNoSuchThing", &found, 13000, 0, &why));
  EXPECT_EQ(why, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST(ErrorNames, ConvertToAndFromStatuses) {
  char const* name = nullptr;
  EXPECT_OK(cu::cuGetErrorName(CUDA_ERROR_NOT_READY, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_NOT_READY");
  EXPECT_OK(cu::cuGetErrorString(CUDA_ERROR_NOT_READY, &name));
  EXPECT_STREQ(name, "device not ready");
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGetErrorName(static_cast<CUresult>(12345), &name));
  EXPECT_EQ(error_by_name("CUDA_ERROR_ASSERT"), CUDA_ERROR_ASSERT);
  EXPECT_EQ(error_by_name("710"), CUDA_ERROR_ASSERT);
  EXPECT_EQ(error_by_name("assert"), std::nullopt);
}

}  // namespace
}  // namespace flotilla::cpu_driver
