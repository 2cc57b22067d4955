// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What a successor gets if memory or files that its predecessor has used are gone.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "isolation/calls/image_bytes.hpp"
#include "isolation/owner/owner.hpp"
#include "unit/isolation/isolated_fixture.hpp"
#include "unit/isolation/worker_pid.hpp"

namespace flotilla::test {
namespace {

class SuccessorTest : public isolated_fixture {
 protected:
  static isolated::isolated_device& device() { return *isolated::owner::get().device(0); }
  void replace() {
    recovery().kill(0);
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  }
  CUdeviceptr memory(std::uint32_t value) {
    CUdeviceptr made = 0;
    EXPECT_EQ(api().mem_alloc(&made, bytes), CUDA_SUCCESS);
    EXPECT_EQ(api().memset_d32(made, value, bytes / sizeof value), CUDA_SUCCESS);
    return made;
  }
  static CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D made{};
    made.srcMemoryType = made.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    made.srcDevice = from;
    made.dstDevice = to;
    made.WidthInBytes = bytes;
    made.Height = made.Depth = 1;
    return made;
  }
  static CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr to, std::uint32_t value) {
    CUDA_MEMSET_NODE_PARAMS made{};
    made.dst = to;
    made.value = value;
    made.elementSize = sizeof value;
    made.width = bytes / sizeof value;
    made.height = 1;
    return made;
  }

  static constexpr std::size_t bytes = 3'000'000;  // a block of its own
};

// regression: the driver refused nodes whose first memory was freed, so the device was quarantined
TEST_F(SuccessorTest, NodesWhoseFirstMemoryWasFreedAreMadeAgain) {
  CUdeviceptr const copied = memory(0), filled = memory(0), source = memory(7);
  CUdeviceptr const freed = memory(1);
  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  CUDA_MEMCPY3D first_copy = copy(copied, freed);
  CUDA_MEMSET_NODE_PARAMS first_fill = fill(freed, 3);
  CUgraphNode copies = nullptr, fills = nullptr;
  FLOTILLA_OK(api().graph_add_memcpy_node(&copies, graph, nullptr, 0, &first_copy, context_));
  FLOTILLA_OK(api().graph_add_memset_node(&fills, graph, &copies, 1, &first_fill, context_));
  CUgraphExec exec = nullptr, idle = nullptr;
  FLOTILLA_OK(api().graph_instantiate_with_flags(&exec, graph, 0));
  FLOTILLA_OK(api().graph_instantiate_with_flags(&idle, graph, 0));  // never gets other memory
  CUDA_MEMCPY3D const second_copy = copy(copied, source);
  CUDA_MEMSET_NODE_PARAMS const second_fill = fill(filled, 9);
  FLOTILLA_OK(api().graph_exec_memcpy_node_set_params(exec, copies, &second_copy, context_));
  FLOTILLA_OK(api().graph_exec_memset_node_set_params(exec, fills, &second_fill, context_));
  FLOTILLA_OK(api().graph_launch(exec, nullptr));
  FLOTILLA_OK(api().mem_free(freed));
  for (int round = 0; round < 2; ++round) {
    FLOTILLA_OK(api().memset_d8(copied, 0, bytes));
    FLOTILLA_OK(api().memset_d8(filled, 0, bytes));
    replace();
    FLOTILLA_OK(api().graph_launch(exec, nullptr));
    FLOTILLA_OK(api().ctx_synchronize());
    EXPECT_EQ(word(copied + bytes - 4), 7u);
    EXPECT_EQ(word(filled + bytes - 4), 9u);
  }
  FLOTILLA_OK(api().graph_exec_memcpy_node_set_params(idle, copies, &second_copy, context_));
  FLOTILLA_OK(api().graph_exec_memset_node_set_params(idle, fills, &second_fill, context_));
  FLOTILLA_OK(api().memset_d8(filled, 0, bytes));
  FLOTILLA_OK(api().graph_launch(idle, nullptr));
  FLOTILLA_OK(api().ctx_synchronize());
  EXPECT_EQ(word(filled), 9u);
  FLOTILLA_OK(api().graph_exec_destroy(idle));
  FLOTILLA_OK(api().graph_exec_destroy(exec));
  FLOTILLA_OK(api().graph_destroy(graph));
  for (CUdeviceptr const each : {copied, filled, source}) { FLOTILLA_OK(api().mem_free(each)); }
}

// regression: a spare kept the registration of a freed block if another block had its address
TEST_F(SuccessorTest, ASpareRegistersTheBlockThatIsThere) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  // All are too large to be kept, and for the gaps that earlier tests have left.
  constexpr std::size_t sizes[] = {320 * mib, 310 * mib, 300 * mib};
  static_assert(sizes[2] > isolated::host_arena::max_kept_bytes);
  device().want_spare();
  void* first = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&first, sizes[0], CU_MEMHOSTALLOC_PORTABLE));
  device().tend_spare();
  FLOTILLA_OK(api().mem_free_host(first));
  void* second = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&second, sizes[1], CU_MEMHOSTALLOC_PORTABLE));
  EXPECT_EQ(second, first);
  replace();
  void* third = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&third, sizes[2], CU_MEMHOSTALLOC_PORTABLE));
  FLOTILLA_OK(api().mem_free_host(third));
  FLOTILLA_OK(api().mem_free_host(second));
}

// regression: a successor read the file again
TEST_F(SuccessorTest, AProgramStaysWhenItsFileIsGone) {
  void const* const code =
      isolated::unwrapped_image(on_gpus() ? test_image().gpu : test_image().cpu);
  std::size_t const size = isolated::image_bytes(code, on_gpus());
  std::filesystem::path const file =
      std::filesystem::temp_directory_path() / ("flotilla_program_" + std::to_string(::getpid()));
  std::ofstream{file, std::ios::binary}.write(static_cast<char const*>(code),
                                              static_cast<std::streamsize>(size));
  FLOTILLA_OK(api().library_load_from_file(&library_, file.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0));
  ASSERT_TRUE(std::filesystem::remove(file));
  CUfunction const add_to = function("add_to");
  CUdeviceptr const where = memory(5);
  for (std::uint32_t round = 1; round < 3; ++round) {
    replace();
    FLOTILLA_OK(add(add_to, where, 1, nullptr));
    EXPECT_EQ(word(where), 5 + round);
  }
  FLOTILLA_OK(api().mem_free(where));
}

// requirement: files that are no programs
TEST_F(SuccessorTest, FilesThatAreNoProgramsAreRefused) {
  auto const load = [&](std::filesystem::path const& file) {
    CUlibrary made = nullptr;
    return api().library_load_from_file(&made, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                                        0);
  };
  EXPECT_EQ(load("/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(load("/"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(load("/dev/null"), CUDA_ERROR_INVALID_IMAGE);
  // On an H200, the driver accepts this text. But it must find no kernel there.
  CUlibrary text = nullptr;
  CUresult answer = api().library_load_from_file(&text, "/proc/self/cmdline", nullptr, nullptr, 0,
                                                 nullptr, nullptr, 0);
  EXPECT_TRUE(on_gpus() || answer != CUDA_SUCCESS);
  if (answer == CUDA_SUCCESS) {
    CUkernel kernel = nullptr;
    answer = api().library_get_kernel(&kernel, text, "add_to");
  }
  EXPECT_NE(answer, CUDA_SUCCESS);
  EXPECT_FALSE(recovery().is_lost(0));
}

// requirement
TEST_F(SuccessorTest, NothingOfAWorkerRunsAfterItsEnd) {
  CUdeviceptr const where = memory(0);
  CUfunction const add_to = function("add_to");
  for (int i = 0; i < 1000; ++i) { FLOTILLA_OK(add(add_to, where, 1, nullptr)); }
  pid_t const worker = worker_pid();
  recovery().end(0);
  EXPECT_TRUE(recovery().is_lost(0));
  EXPECT_EQ(::kill(worker, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  recovery().end(0);  // once more has no effect
  ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  FLOTILLA_OK(api().mem_free(where));
}

}  // namespace
}  // namespace flotilla::test
