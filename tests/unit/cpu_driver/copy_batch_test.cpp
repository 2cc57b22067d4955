// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Several copies with one call.
#include "driver_test.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace flotilla::cpu_driver {
namespace {

class CopyBatchTest : public ContextTest {};

TEST_F(CopyBatchTest, CopiesManyAtOnce) {
  CUstream stream = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  auto* const words = shared<std::uint32_t>(4);
  words[0] = 11;
  words[1] = 22;
  std::array<CUdeviceptr, 2> to{address_of(&words[2]), address_of(&words[3])};
  std::array<CUdeviceptr, 2> from{address_of(&words[0]), address_of(&words[1])};
  std::array<std::size_t, 2> bytes{4, 4};
  CUmemcpyAttributes order{};
  order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  auto const copy = [&] {
    return cu::cuMemcpyBatchAsync(to.data(), from.data(), bytes.data(), 2, &order, &first, 1,
                                  stream);
  };
  EXPECT_OK(copy());
  EXPECT_OK(cu::cuStreamSynchronize(stream));
  EXPECT_EQ(words[2], 11u);
  EXPECT_EQ(words[3], 22u);
  // None of them is copied if one is refused.
  words[0] = 33;
  bytes[1] = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, copy());
  bytes[1] = 4;
  order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, copy());
  order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  first = 1;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, copy());
  first = 0;
  EXPECT_STATUS(
      CUDA_ERROR_INVALID_VALUE,
      cu::cuMemcpyBatchAsync(to.data(), from.data(), bytes.data(), 2, &order, &first, 1, nullptr));
  EXPECT_OK(cu::cuStreamSynchronize(stream));
  EXPECT_EQ(words[2], 11u);
  EXPECT_OK(cu::cuStreamDestroy(stream));
}

}  // namespace
}  // namespace flotilla::cpu_driver
