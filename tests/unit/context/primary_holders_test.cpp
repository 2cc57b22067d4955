// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The number of contexts in the process, which the wait policy `automatic` compares with the number
// of processors.
#include "context/primary_holders.hpp"

#include <flotilla/error/error.hpp>

#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class PrimaryHolders : public context_test {
 protected:
  static CUcontext retain(CUdevice device) {
    CUcontext made = nullptr;
    EXPECT_EQ(api()->device_primary_ctx_retain(&made, device), CUDA_SUCCESS);
    return made;
  }
  static void release(CUdevice device) {
    EXPECT_EQ(api()->device_primary_ctx_release(device), CUDA_SUCCESS);
  }
  static request from(context_source source) {
    request made{};
    made.settings.context = source;
    return made;
  }
};

// requirement: primary contexts that other code has retained count
TEST_F(PrimaryHolders, ForeignPrimaryContextsCount) {
  EXPECT_EQ(contexts_in_process(*api(), 2, 0), 0u);
  retain(0);
  retain(1);
  EXPECT_EQ(foreign_primaries(*api(), 2), 2u);
  EXPECT_EQ(contexts_in_process(*api(), 2, 0), 2u);
  context_handle const own{api(), cpu(), {}};
  EXPECT_EQ(contexts_in_process(*api(), 2, 1), 3u);
  release(0);
  release(1);
  EXPECT_EQ(contexts_in_process(*api(), 2, 1), 1u);
}

// requirement: a primary context that flotilla holds counts once, whoever else holds it
TEST_F(PrimaryHolders, APrimaryContextOfFlotillaCountsOnce) {
  {
    context_handle const own{api(), cpu(), from(context_source::primary())};
    retain(0);
    EXPECT_EQ(foreign_primaries(*api(), 2), 0u);
    EXPECT_EQ(contexts_in_process(*api(), 2, 0), 1u);
  }
  EXPECT_EQ(foreign_primaries(*api(), 2), 1u) << "the other holder still has the context";
  release(0);
}

// requirement: a primary context whose retain failed is not held
TEST_F(PrimaryHolders, ARefusedPrimaryContextIsNotHeld) {
  testing::fail_call("cuDevicePrimaryCtxRetain", 1, driver_status::out_of_memory);
  EXPECT_THROW((context_handle{api(), cpu(), from(context_source::primary())}), driver_error);
  retain(0);
  EXPECT_EQ(foreign_primaries(*api(), 2), 1u);
  release(0);
}

// requirement: the driver is asked only if the result can be above the number in question
TEST_F(PrimaryHolders, TheDriverIsAskedOnlyIfItMatters) {
  retain(0);
  EXPECT_EQ(contexts_in_process(*api(), 2, 2), 0u);
  EXPECT_EQ(contexts_in_process(*api(), 2, 1), 1u);
  release(0);
}

}  // namespace
}  // namespace flotilla::context
