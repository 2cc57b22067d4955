// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Libraries and modules. Each context loads its own copy of a library when the copy is first
// needed. So a CUkernel has one CUfunction in each context.
#include "driver_test.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cpu_driver/kernel/loaded_image.hpp"

namespace flotilla::cpu_driver {
namespace {

class LibraryTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_OK(cu::cuLibraryLoadData(&library_, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                    nullptr, nullptr, 0));
  }
  void TearDown() override {
    EXPECT_OK(cu::cuLibraryUnload(library_));
    ContextTest::TearDown();
  }
  CUkernel kernel(char const* name) {
    CUkernel found = nullptr;
    EXPECT_OK(cu::cuLibraryGetKernel(&found, library_, name));
    return found;
  }
  template <class... Arguments>
  static CUresult launch_kernel(CUkernel what, CUstream where, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    return cu::cuLaunchKernel(reinterpret_cast<CUfunction>(what), 1, 1, 1, 1, 1, 1, 0, where,
                              addresses, nullptr);
  }

  CUlibrary library_ = nullptr;
};

/// Runs `body` in a forked process, which exits with the result of `body`.
/// @return The exit status, or -1 if there was none.
int exit_status_of_child(std::function<int()> const& body) {
  pid_t const child = ::fork();
  if (child == 0) { std::_Exit(body()); }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) { return -1; }
  return WEXITSTATUS(status);
}

// regression: the paths began with "/proc/self", so gdb read one of its own descriptors instead of
// the image, and hung if that descriptor was a pipe
TEST_F(LibraryTest, ADebuggerCanReadTheImages) {
  // The path of this test's own image: a device may still be closing the images of an earlier test.
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  ASSERT_OK(cu::cuLibraryGetGlobal(&variable, &bytes, library_, "variable"));
  Dl_info image{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(variable), &image), 0);
  std::string const path = image.dli_fname;
  int const status = exit_status_of_child([&path] {
    std::array<char, 4> start{};
    std::ifstream{path}.read(start.data(), start.size());
    return std::memcmp(start.data(), "\177ELF", start.size()) == 0 &&
                   path.starts_with("/proc/" + std::to_string(::getppid()) + "/")
               ? 0
               : 1;
  });
  EXPECT_EQ(status, 0) << path;
}

// regression: the paths contained getpid(), which is another process in a /proc that shows another
// PID namespace
TEST_F(LibraryTest, ImagesLoadIfProcShowsAnotherPidNamespace) {
  int const status = exit_status_of_child([] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) { return 77; }
    // The first child is process 1 of the new namespace. /proc still shows the old one.
    return exit_status_of_child([] {
      image const& kernels = test_cpu_driver_kernels;
      return loaded_image::load(kernels.cpu, kernels.cpu_bytes) != nullptr ? 0 : 1;
    });
  });
  if (status == 77) { GTEST_SKIP() << "this user cannot create a PID namespace"; }
  EXPECT_EQ(status, 0);
}

TEST_F(LibraryTest, IsLoadedIntoAContextWhenFirstNeededThere) {
  std::size_t const before = control().live_handles().modules;
  CUkernel const nothing = kernel("nothing");
  EXPECT_EQ(control().live_handles().modules, before);
  CUfunction function = nullptr;
  EXPECT_OK(cu::cuKernelGetFunction(&function, nothing));
  EXPECT_EQ(control().live_handles().modules, before + 1);
  CUfunction again = nullptr;
  EXPECT_OK(cu::cuKernelGetFunction(&again, nothing));
  EXPECT_EQ(function, again);
  EXPECT_OK(cu::cuFuncLoad(function));
  EXPECT_EQ(control().live_handles().modules, before + 1);
}

TEST_F(LibraryTest, KernelsMeanTheFunctionOfTheStreamsContext) {
  CUcontext const other = floating(1);
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUstream there = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  CUstream const here = stream();
  int* const got = shared<int>(2);
  // Each context has its own copy of the variable.
  EXPECT_OK(launch_kernel(kernel("write_variable"), here, 1));
  EXPECT_OK(launch_kernel(kernel("write_variable"), there, 2));
  EXPECT_OK(launch_kernel(kernel("read_variable"), here, &got[0]));
  EXPECT_OK(launch_kernel(kernel("read_variable"), there, &got[1]));
  EXPECT_OK(cu::cuStreamSynchronize(here));
  EXPECT_OK(cu::cuStreamSynchronize(there));
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 2);
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(LibraryTest, OutlivesContextsAndIsLoadedAgainInNewOnes) {
  CUkernel const write = kernel("write_variable");
  CUkernel const read = kernel("read_variable");
  for (int round = 0; round < 3; ++round) {
    CUcontext const next = floating();
    ASSERT_OK(cu::cuCtxPushCurrent(next));
    int* const got = shared<int>();
    EXPECT_OK(launch_kernel(read, nullptr, got));
    EXPECT_OK(cu::cuCtxSynchronize());
    EXPECT_EQ(*got, 7) << round;
    EXPECT_OK(launch_kernel(write, nullptr, 8));
    EXPECT_OK(cu::cuCtxDestroy(next));
  }
}

TEST_F(LibraryTest, ListsItsKernels) {
  unsigned count = 0;
  EXPECT_OK(cu::cuLibraryGetKernelCount(&count, library_));
  std::vector<CUkernel> all(count);
  EXPECT_OK(cu::cuLibraryEnumerateKernels(all.data(), count, library_));
  std::set<std::string> names;
  for (CUkernel const each : all) {
    char const* name = nullptr;
    EXPECT_OK(cu::cuKernelGetName(&name, each));
    names.insert(name);
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_TRUE(names.contains("store"));
  CUkernel found = nullptr;
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND, cu::cuLibraryGetKernel(&found, library_, "nope"));
}

TEST_F(LibraryTest, ReportsParameters) {
  std::size_t offset = 9;
  std::size_t bytes = 9;
  EXPECT_OK(cu::cuKernelGetParamInfo(kernel("mixed"), 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 8u);
  EXPECT_OK(cu::cuFuncGetParamInfo(function("mixed"), 2, &offset, &bytes));
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(bytes, 2u);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuKernelGetParamInfo(kernel("mixed"), 5, &offset, &bytes));
  int threads = 0;
  EXPECT_OK(cu::cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                     kernel("bounded"), 0));
  EXPECT_EQ(threads, 64);
}

TEST_F(LibraryTest, AKernelsSettingAppliesToItsFunctions) {
  EXPECT_OK(cu::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000,
                                     kernel("nothing"), 0));
  auto const what = reinterpret_cast<CUfunction>(kernel("nothing"));
  EXPECT_OK(cu::cuLaunchKernel(what, 1, 1, 1, 1, 1, 1, 100000, nullptr, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE,
                cu::cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0,
                                         kernel("nothing"), 99));
}

TEST_F(LibraryTest, GlobalsAreReadAndWrittenPerContext) {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_OK(cu::cuLibraryGetGlobal(&address, &bytes, library_, "variable"));
  EXPECT_EQ(bytes, sizeof(int));
  int value = 0;
  EXPECT_OK(cu::cuMemcpyDtoH(&value, address, sizeof value));
  EXPECT_EQ(value, 7);
  value = 123;
  EXPECT_OK(cu::cuMemcpyHtoD(address, &value, sizeof value));
  int* const got = shared<int>();
  EXPECT_OK(launch_kernel(kernel("read_variable"), nullptr, got));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*got, 123);
  EXPECT_OK(cu::cuModuleGetGlobal(&address, &bytes, module_, "factors"));
  EXPECT_EQ(bytes, 4 * sizeof(float));
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND, cu::cuModuleGetGlobal(&address, &bytes, module_, "nope"));
}

TEST_F(LibraryTest, UnloadingKeepsTheCodeOfQueuedLaunches) {
  CUlibrary passing = nullptr;
  ASSERT_OK(cu::cuLibraryLoadData(&passing, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  CUkernel store = nullptr;
  ASSERT_OK(cu::cuLibraryGetKernel(&store, passing, "store"));
  int* const to = shared<int>();
  CUstream const where = stream();
  {
    gate closed;
    closed.hold(where);
    EXPECT_OK(launch_kernel(store, where, to, 31));
    EXPECT_OK(cu::cuLibraryUnload(passing));
    EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, launch_kernel(store, where, to, 32));
  }
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*to, 31);
}

TEST_F(LibraryTest, InvalidImagesAreRefused) {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_IMAGE, cu::cuModuleLoadData(&module, "garbage"));
  EXPECT_STATUS(CUDA_ERROR_INVALID_IMAGE, cu::cuLibraryLoadData(&library, "garbage", nullptr,
                                                                nullptr, 0, nullptr, nullptr, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuModuleLoadData(&module, nullptr));
  EXPECT_STATUS(CUDA_ERROR_FILE_NOT_FOUND, cu::cuModuleLoad(&module, "/nowhere/at/all"));
  EXPECT_STATUS(
      CUDA_ERROR_FILE_NOT_FOUND,
      cu::cuLibraryLoadFromFile(&library, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0));
}

TEST_F(LibraryTest, AFileWorksLikeBytes) {
  std::string const path = testing::TempDir() + "flotilla_cpu_driver_image.so";
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(test_cpu_driver_kernels.cpu, 1, test_cpu_driver_kernels.cpu_bytes, file);
  std::fclose(file);
  CUmodule module = nullptr;
  EXPECT_OK(cu::cuModuleLoad(&module, path.c_str()));
  EXPECT_OK(cu::cuModuleUnload(module));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuModuleUnload(module));
  std::remove(path.c_str());
}

TEST_F(LibraryTest, TheModuleOfALibraryIsUnloadedOnlyWithTheLibrary) {
  CUmodule module = nullptr;
  EXPECT_OK(cu::cuLibraryGetModule(&module, library_));
  EXPECT_STATUS(CUDA_ERROR_NOT_PERMITTED, cu::cuModuleUnload(module));
}

}  // namespace
}  // namespace flotilla::cpu_driver
