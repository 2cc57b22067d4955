// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver allocates some resources when it creates a context, and other resources later. Work
// that needs only resources of the first kind succeeds even if device memory is full.
#include "contexts_test.hpp"

#include <vector>

namespace flotilla::test {
namespace {

class Preallocation : public contexts_test {
 protected:
  /// Fills the device memory: allocates blocks in the current context until not even a block of 1
  /// MiB can be allocated.
  static void take_all() {
    for (std::size_t piece : {std::size_t{1} << 30, std::size_t{64} << 20, std::size_t{1} << 20}) {
      CUdeviceptr taken = 0;
      while (cu().mem_alloc(&taken, piece) == CUDA_SUCCESS) {}
    }
    CUdeviceptr none = 0;
    EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu().mem_alloc(&none, 64u << 20));
  }
};

// C4.11 C4.27 C4.28: pageable copies succeed while device memory is full, because the driver has
// allocated the staging buffers together with the context
TEST_F(Preallocation, PageableCopiesWorkWithTheMemoryFull) {
  create();
  constexpr std::size_t words = 1u << 20;
  CUdeviceptr const memory = allocate(words * 4);
  take_all();
  std::vector<std::uint32_t> from(words), to(words);
  for (std::uint32_t i = 0; i < words; ++i) { from[i] = i * 2654435761u; }
  EXPECT_OK(cu().memcpy_htod(memory, from.data(), words * 4));
  EXPECT_OK(cu().memcpy_dtoh(to.data(), memory, words * 4));
  EXPECT_EQ(from, to);
  pop();
}

// C4.27: loaded kernels can be launched while device memory is full
TEST_F(Preallocation, LoadedKernelsRunWithTheMemoryFull) {
  create();
  CUfunction const put = function(load(), "put");
  std::uint32_t* const word = pinned(1);
  EXPECT_OK(launch(put, nullptr, word, 1));
  EXPECT_OK(cu().ctx_synchronize());
  take_all();
  EXPECT_OK(launch(put, nullptr, word, 2));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*word, 2u);
  pop();
}

// C4.29: no context is created if there is not enough device memory for its resources
TEST_F(Preallocation, AContextThatHasNoRoomIsNotMade) {
  if (!on_gpus()) {
    GTEST_SKIP() << "needs a GPU: a context of a CPU device takes no device memory";
  }
  create();
  take_all();
  CUdevice device{};
  EXPECT_OK(cu().device_get(&device, 0));
  CUcontext none = nullptr;
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu().ctx_create(&none, 0, device));
  pop();
}

// C4.30 C4.31: a context does not allocate in advance the local memory that the largest kernel
// needs. If device memory is full, a launch that needs additional local memory fails, and a launch
// that needs none succeeds
TEST_F(Preallocation, ALaunchWithoutRoomForItsLocalMemoryFails) {
  if (!on_gpus()) { GTEST_SKIP() << "needs a GPU: a CPU device has its local memory on the host"; }
  create();
  CUmodule const module = load();
  CUfunction const large = function(module, "large_frame"), put = function(module, "put");
  std::uint32_t* const word = pinned(1);
  EXPECT_OK(launch(put, nullptr, word, 1));
  EXPECT_OK(cu().ctx_synchronize());
  take_all();
  unsigned const steps = 1;
  void* arguments[] = {const_cast<unsigned*>(&steps), const_cast<std::uint32_t**>(&word)};
  CUresult const answer =
      cu().launch_kernel(large, 4096, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
  EXPECT_TRUE(answer == CUDA_ERROR_OUT_OF_MEMORY || answer == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
      << name_of(answer);
  EXPECT_OK(launch(put, nullptr, word, 2));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*word, 2u);
  pop();
}

}  // namespace
}  // namespace flotilla::test
