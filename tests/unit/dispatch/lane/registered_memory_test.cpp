// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/registered_memory.hpp"

#include <gtest/gtest.h>

#include <memory>

#include <flotilla/error/error.hpp>

#include "context/lease.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::dispatch {
namespace {

class RegisteredMemory : public context::context_test {};

int registered = 0;

// requirement: memory for which the driver gives no address does not stay registered
TEST_F(RegisteredMemory, IsUnregisteredIfItHasNoAddress) {
  auto const with = std::make_shared<driver::table>(*api());
  with->mem_host_register = [](void* at, std::size_t bytes, unsigned flags) {
    ++registered;
    return api()->mem_host_register(at, bytes, flags);
  };
  with->mem_host_unregister = [](void* at) {
    --registered;
    return api()->mem_host_unregister(at);
  };
  context::context_handle context{with, cpu(), {}};
  context::lease_gate gate{context};
  context::lease held{gate.take()};
  context::current_scope const scope{held};
  {
    registered_memory usual{context, 100};
    EXPECT_EQ(registered, 1);
    usual.unregister();
    usual.unregister();
    EXPECT_EQ(registered, 0);
  }
  with->mem_host_get_device_pointer = [](CUdeviceptr*, void*, unsigned) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  };
  EXPECT_THROW(registered_memory(context, 100), driver_error);
  EXPECT_EQ(registered, 0);
}

}  // namespace
}  // namespace flotilla::dispatch
