// Driver calls that fail at any place: every ticket ends, nothing leaks, nothing hangs.

#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Injection : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
};

// What a runtime calls while tasks travel, and may be refused for want of something.
constexpr std::array while_running{
    "cuLaunchKernel",    "cuLaunchKernelEx",  "cuEventRecord",        "cuEventCreate",
    "cuEventQuery",      "cuStreamWaitEvent", "cuStreamQuery",        "cuMemcpyAsync",
    "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync",    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",   "cuMemsetD32Async",  "cuMemAlloc",           "cuMemAllocAsync",
    "cuMemHostAlloc",    "cuLaunchHostFunc",  "cuStreamWriteValue64", "cuStreamWriteValue32",
    "cuStreamCreate",    "cuGraphCreate",     "cuGraphAddKernelNode", "cuGraphAddBatchMemOpNode",
    "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams",
    "cuGraphExecBatchMemOpNodeSetParams", "cuGraphNodeSetEnabled", "cuGraphLaunch"};

constexpr std::array statuses{"CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_INVALID_VALUE",
                              "CUDA_ERROR_INVALID_HANDLE", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"};

/// Tasks of every kind, on every device, some after others. @return their tickets; what submit or a
/// buffer throws counts as an answer, too.
std::vector<ticket> travel(runtime& rt, launch const& nothing, std::atomic<int>& called) {
  std::vector<ticket> open;
  auto const answered = [&](auto submit) {
    try {
      open.push_back(submit());
    } catch (error const&) {}
  };
  auto const devices = static_cast<unsigned>(rt.devices().size());
  for (unsigned i = 0; i < 40; ++i) {
    task_options how{.device = device_ordinal{i % devices}};
    if (!open.empty() && i % 3 == 0) { how.after.add(open.back()); }
    answered([&] { return rt.submit(nothing, how); });
    if (i % 5 == 0) {
      answered([&] { return rt.submit([&](task_context&) { ++called; }, how); });
    }
  }
  return open;
}

void move_data(runtime& rt) {
  for (device const& where : rt.devices()) {
    try {
      std::vector<std::uint32_t> host(300'000, 7);
      device_buffer<std::uint32_t> const one{rt, where, host.size()},
          two{rt, rt.devices().front(), host.size()};
      ticket const up = rt.submit(one.copy_from(host));
      ticket const across = rt.submit(one.copy_to(two), {.after = {up}});
      ticket const down = rt.submit(two.copy_to(host), {.after = {across}});
      ticket const filled = rt.submit(two.fill(3), {.after = {down}});
      for (ticket const* each : {&up, &across, &down, &filled}) {
        EXPECT_TRUE(ended(*each));
        try {
          each->wait();
        } catch (error const&) {}
      }
    } catch (error const&) {  // a buffer could not be made
    }
  }
}

/// `count` failures of random entries, each some calls ahead.
std::string random_failures(std::minstd_rand& dice, int count) {
  std::string spec;
  for (int i = 0; i < count; ++i) {
    spec += (i == 0 ? "" : ",") + std::string{"fail="} +
            while_running[dice() % while_running.size()] + "@" + std::to_string(1 + dice() % 60) +
            ":" + statuses[dice() % statuses.size()];
  }
  return spec;
}

// stress
TEST_F(Injection, EveryTicketEndsWhateverCallFails) {
  std::size_t const rounds = scaled(400, 20);
  std::minstd_rand dice{20240607};
  std::size_t ended_badly = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::string spec;
    {
      runtime rt{{.devices = device_spec(2), .workers = static_cast<int>(round % 3)}};
      test_program const program{rt};
      launch const nothing = program.nothing.on({1}, {1})();
      spec = random_failures(dice, 1 + static_cast<int>(dice() % 4));
      inject(spec);
      std::atomic<int> called{0};
      std::vector<ticket> const open = travel(rt, nothing, called);
      for (ticket const& each : open) {
        ASSERT_TRUE(ended(each)) << "a ticket stayed open under " << spec;
        try {
          each.wait();
        } catch (error const&) { ++ended_badly; }
      }
      move_data(rt);
      clear_injection();
      // What was refused is over: the runtime is as good as before.
      rt.submit(nothing, {.device = device_ordinal{0}}).wait();
      rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    }
    ASSERT_EQ(stack_depth(), 0u) << spec;
    ASSERT_EQ(::testing::Test::HasFailure(), false) << spec;
  }
  EXPECT_GT(ended_badly, 0u) << "nothing was injected";
}

// What making a runtime and loading a program call.
constexpr std::array while_starting{"cuDeviceGet",
                                    "cuDeviceGetName",
                                    "cuDeviceGetUuid",
                                    "cuDeviceGetAttribute",
                                    "cuDeviceTotalMem",
                                    "cuDeviceGetPCIBusId",
                                    "cuCtxCreate",
                                    "cuCtxPushCurrent",
                                    "cuCtxSetLimit",
                                    "cuCtxGetLimit",
                                    "cuCtxSetCacheConfig",
                                    "cuCtxGetCacheConfig",
                                    "cuCtxGetFlags",
                                    "cuStreamCreate",
                                    "cuStreamCreateWithPriority",
                                    "cuEventCreate",
                                    "cuMemHostAlloc",
                                    "cuMemAlloc",
                                    "cuLibraryLoadData",
                                    "cuLibraryGetKernel",
                                    "cuLibraryGetKernelCount",
                                    "cuLibraryEnumerateKernels",
                                    "cuKernelGetFunction",
                                    "cuKernelGetName",
                                    "cuKernelGetParamInfo",
                                    "cuFuncLoad",
                                    "cuFuncGetAttribute"};

// error guess: a runtime that cannot be made leaves nothing behind
TEST_F(Injection, RuntimeThatCannotBeMadeLeavesNothing) {
  std::size_t const handles = live_handles();
  std::size_t refused = 0;
  for (char const* const entry : while_starting) {
    for (int n = 1; n <= 6; ++n) {
      std::string const spec =
          "fail=" + std::string{entry} + "@" + std::to_string(n) + ":CUDA_ERROR_OUT_OF_MEMORY";
      inject(spec);
      try {
        runtime_options options{.devices = device_spec(2), .workers = 1};
        options.settings = settings::parse("limits.stack=4096,cache=l1");
        runtime rt{options};
        test_program const program{rt};
        rt.submit(program.nothing.on({1}, {1})()).wait();
      } catch (error const& why) {
        ++refused;
        EXPECT_NE(std::string{why.what()}.size(), 0u);
      }
      clear_injection();
      EXPECT_EQ(live_handles(), handles) << spec;
      EXPECT_EQ(stack_depth(), 0u) << spec;
    }
  }
  EXPECT_GT(refused, while_starting.size()) << "nothing was injected";
}

// error guess: the push that a drain begins with fails for a while: tasks are not lost, nobody
// hangs
TEST_F(Injection, ContextThatCannotBePushedForAWhileLosesNothing) {
  for (int const workers : {0, 1}) {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    test_program const program{rt};
    std::vector<ticket> open;
    for (int i = 0; i < 10; ++i) { open.push_back(rt.submit(program.nothing.on({1}, {1})())); }
    inject(
        "fail=cuCtxPushCurrent@1:CUDA_ERROR_INVALID_CONTEXT,fail=cuCtxPushCurrent@2:CUDA_ERROR_"
        "INVALID_CONTEXT");
    for (ticket const& each : open) {
      EXPECT_TRUE(ended(each));
      try {
        each.wait();
      } catch (error const&) {}
    }
    clear_injection();
    rt.submit(program.nothing.on({1}, {1})()).wait();
  }
}

// error guess: pushes and pops that fail around a callable: the device may be given up, but every
// ticket ends, the thread's stack is clean, and the destructor returns
TEST_F(Injection, StackThatCannotBeKeptInOrderLeavesNobodyWaiting) {
  for (char const* const entry : {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetCurrent"}) {
    for (int n = 1; n <= 12; ++n) {
      std::string const spec =
          "fail=" + std::string{entry} + "@" + std::to_string(n) + ":CUDA_ERROR_INVALID_CONTEXT";
      std::jthread{[&] {  // on a thread of its own: what a failed pop leaves is gone with it
        runtime rt{{.devices = device_spec(2), .workers = n % 2}};
        test_program const program{rt};
        launch const nothing = program.nothing.on({1}, {1})();
        std::atomic<int> called{0};
        inject(spec);
        for (ticket const& each : travel(rt, nothing, called)) {
          EXPECT_TRUE(ended(each)) << "a ticket stayed open under " << spec;
        }
        clear_injection();
      }}
          .join();
    }
  }
}

// requirement: memory that runs out fails what needs it, and is there again when it was given back
TEST_F(Injection, CapacityRunsOutAndComesBack) {
  inject("capacity=0:64MiB");
  runtime rt{{.devices = device_spec(1)}};
  {
    device_buffer<char> const most{rt, device_ordinal{0}, 40u << 20};
    EXPECT_THROW((device_buffer<char>{rt, device_ordinal{0}, 40u << 20}), driver_error);
  }
  // Freed behind the last task: there when everything has ended.
  rt.wait_idle();
  EXPECT_TRUE(pumping(rt, [&] {
    try {
      device_buffer<char> const again{rt, device_ordinal{0}, 40u << 20};
      return true;
    } catch (driver_error const&) { return false; }
  }));
}

// requirement: an injection that makes no sense is refused by name and adds nothing
TEST_F(Injection, ThatMakesNoSenseIsRefusedByName) {
  for (char const* const spec :
       {"nonsense", "fail=cuNoSuchEntry@1:CUDA_ERROR_OUT_OF_MEMORY", "fail=cuLaunchKernel",
        "fail=cuLaunchKernel@x:CUDA_ERROR_OUT_OF_MEMORY", "fail=cuLaunchKernel@1:NO_SUCH_STATUS",
        "slow=0:-1", "slow=x:2", "delay=cuLaunchKernel:x", "capacity=0:lots"}) {
    try {
      inject(spec);
      ADD_FAILURE() << spec << " was taken";
    } catch (invalid_argument const& error) {
      EXPECT_NE(std::string{error.what()}.find(spec), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(inject("slow=0:2,nonsense"), invalid_argument);
}

}  // namespace
}  // namespace flotilla::test
