// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Splitting and describing the multiprocessors of a device. Requirement: the results are as
// <cuda.h> documents them. The numbers are those of an H200.
#include <array>

#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr CUdevResourceType sm = CU_DEV_RESOURCE_TYPE_SM;

class ResourceTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cu::cuDeviceGetDevResource(0, &whole_, sm));
  }

  unsigned split(unsigned groups, unsigned least, unsigned flags = 0) {
    EXPECT_OK(
        cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &whole_, &rest_, flags, least));
    return groups;
  }

  CUdevResource whole_{};
  CUdevResource rest_{};
  std::array<CUdevResource, 132> parts_{};
};

TEST_F(ResourceTest, ADeviceHasAsManyMultiprocessorsAsItsAttributeSays) {
  int count = 0;
  EXPECT_OK(cu::cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_EQ(whole_.type, sm);
  EXPECT_EQ(whole_.sm.smCount, static_cast<unsigned>(count));
  EXPECT_EQ(whole_.sm.minSmPartitionSize, 8u);
  EXPECT_EQ(whole_.sm.smCoscheduledAlignment, 8u);
}

TEST_F(ResourceTest, AWholeDeviceHasEightGroupsOfSixteen) {
  EXPECT_EQ(split(132, 16), 8u);
  EXPECT_EQ(parts_[0].sm.smCount, 16u);
  EXPECT_EQ(parts_[7].sm.smCount, 16u);
  EXPECT_EQ(rest_.sm.smCount, 4u);
}

TEST_F(ResourceTest, EveryUsualGroupHasOneOfFifteenClustersOfEight) {
  EXPECT_EQ(split(132, 8), 15u);
  EXPECT_EQ(parts_[14].sm.smCount, 8u);
  EXPECT_EQ(rest_.sm.smCount, 12u);
  CUdevResource const left = rest_;
  unsigned groups = 132;
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &left, nullptr, 0, 8));
  EXPECT_EQ(split(132, 128), 1u);
  EXPECT_EQ(rest_.sm.smCount, 4u);
}

TEST_F(ResourceTest, TheWholeDeviceIsAGroupAlthoughItIsNoMultiple) {
  EXPECT_EQ(split(132, 132), 1u);
  EXPECT_EQ(parts_[0].sm.smCount, 132u);
  EXPECT_EQ(rest_.type, CU_DEV_RESOURCE_TYPE_INVALID);
  EXPECT_EQ(split(132, 129), 1u);
  EXPECT_EQ(parts_[0].sm.smCount, 132u);
}

TEST_F(ResourceTest, UnknownFlagsAreIgnored) {
  EXPECT_EQ(split(132, 16, 4), 8u);
  EXPECT_EQ(rest_.sm.smCount, 4u);
}

TEST_F(ResourceTest, AGroupIsRoundedUpToCoscheduledMultiprocessors) {
  EXPECT_EQ(split(132, 17), 5u);
  EXPECT_EQ(parts_[0].sm.smCount, 24u);
  EXPECT_EQ(split(132, 3, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING), 33u);
  EXPECT_EQ(parts_[0].sm.smCount, 4u);
  EXPECT_EQ(rest_.type, CU_DEV_RESOURCE_TYPE_INVALID);
}

TEST_F(ResourceTest, FewerGroupsThanPossibleLeaveMore) {
  EXPECT_EQ(split(1, 16), 1u);
  EXPECT_EQ(rest_.sm.smCount, 116u);
  unsigned groups = 0;
  EXPECT_OK(cu::cuDevSmResourceSplitByCount(nullptr, &groups, &whole_, nullptr, 0, 16));
  EXPECT_EQ(groups, 8u);
  EXPECT_OK(cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &rest_, nullptr, 0, 100));
  EXPECT_EQ(groups, 1u);
}

TEST_F(ResourceTest, ImpossibleSplitsAreRefusedAndWriteNothing) {
  unsigned groups = 132;
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &whole_, nullptr, 0, 133));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &whole_, nullptr, 3, 16));
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_TYPE,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &rest_, nullptr, 0, 16));
  EXPECT_EQ(groups, 132u);
  EXPECT_EQ(parts_[0].type, CU_DEV_RESOURCE_TYPE_INVALID);
  ASSERT_EQ(split(2, 16), 2u);
  CUdevResource const part = parts_[0];
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &part, nullptr, 0, 8));
  CUdevResource forged = whole_;
  forged._internal_padding[0] ^= 1;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &forged, nullptr, 0, 8));
}

TEST_F(ResourceTest, OnlyPartsOfOneSplitAreDescribedTogether) {
  CUdevResourceDesc description = nullptr;
  ASSERT_EQ(split(2, 16), 2u);
  EXPECT_OK(cu::cuDevResourceGenerateDesc(&description, parts_.data(), 2));
  EXPECT_NE(description, nullptr);
  std::array<CUdevResource, 2> mixed{parts_[0], rest_};
  EXPECT_OK(cu::cuDevResourceGenerateDesc(&description, mixed.data(), 2));
  mixed[1] = parts_[0];
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                cu::cuDevResourceGenerateDesc(&description, mixed.data(), 2));
  ASSERT_EQ(split(2, 16), 2u);
  mixed[1] = parts_[1];
  EXPECT_STATUS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                cu::cuDevResourceGenerateDesc(&description, mixed.data(), 2));
}

}  // namespace
}  // namespace flotilla::cpu_driver
