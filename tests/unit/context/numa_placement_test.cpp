// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which NUMA node the memory of a device prefers, and under which memory policy pinned memory is
// allocated. The trees of nodes are made by the tests. The tests cannot show on which node the
// driver places pages.
#include "context/host_memory.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>

#include <memory>

#include "context/plan.hpp"
#include "dispatch/lane/registered_memory.hpp"
#include "support/numa_tree.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

using test::mask_of;
using test::numa_tree;

int policy_mode() {
  int mode = -1;
  ::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, nullptr, 0ul);
  return mode;
}

int mode_in_call = -1;  // the memory policy during the last call of a recording driver

class NumaPlacement : public context_test {
 protected:
  /// Plans for devices on these nodes. Node 0 has the processors 0 and 1, and node 3 has 2 and 3.
  std::vector<request> plan_for(std::vector<int> const& nodes_of_devices, std::string const& asked,
                                base::processor_mask const& allowed) const {
    choice chosen{api(), {}, {}, {}};
    for (unsigned i = 0; i < nodes_of_devices.size(); ++i) {
      chosen.devices.push_back(cpu());
      chosen.devices.back().ordinal = device_ordinal{i};
      chosen.devices.back().numa_node = nodes_of_devices[i];
    }
    chosen.sources.resize(nodes_of_devices.size());
    return plan(chosen, settings::parse(asked), false, base::numa_nodes{tree_.root(), allowed});
  }
  /// A driver that records the memory policy of the calls that allocate or register host memory.
  static std::shared_ptr<driver::table const> recording() {
    driver::table made = *api();
    made.mem_host_alloc = [](void** memory, std::size_t bytes, unsigned flags) {
      mode_in_call = policy_mode();
      return api()->mem_host_alloc(memory, bytes, flags);
    };
    made.mem_host_register = [](void* memory, std::size_t bytes, unsigned flags) {
      mode_in_call = policy_mode();
      return api()->mem_host_register(memory, bytes, flags);
    };
    return std::make_shared<driver::table const>(made);
  }
  static request on_node(int node) {
    request made;
    made.host_node = node;
    return made;
  }

  numa_tree const tree_{{"0-1", "", "", "2-3"}};
};

// requirement
TEST_F(NumaPlacement, ADevicePrefersItsNode) {
  auto const requests = plan_for({0, 3}, "", mask_of({1, 2, 3}));
  EXPECT_EQ(requests[0].host_node, 0);
  EXPECT_EQ(requests[1].host_node, 3);
  EXPECT_EQ(requests[0].no_host_node + requests[1].no_host_node, "");
}

// requirement: without a node, with a node outside of the cpuset, and with processors of one node
// only, there is no preference, and the request has the reason
TEST_F(NumaPlacement, ADeviceWithoutAUsableNodePrefersNone) {
  auto const requests = plan_for({-1, 1, 0}, "", mask_of({0, 2}));
  EXPECT_EQ(requests[0].host_node, -1);
  EXPECT_THAT(requests[0].no_host_node, HasSubstr("unknown"));
  EXPECT_EQ(requests[1].host_node, -1);
  EXPECT_THAT(requests[1].no_host_node, HasSubstr("NUMA node 1"));
  EXPECT_EQ(requests[2].host_node, 0);
  auto const in_one_node = plan_for({0}, "numa_placement=true", mask_of({0, 1}));
  EXPECT_EQ(in_one_node[0].host_node, -1);
  EXPECT_THAT(in_one_node[0].no_host_node, HasSubstr("one NUMA node only"));
}

// requirement
TEST_F(NumaPlacement, TheSettingTurnsThePreferenceOff) {
  auto const requests = plan_for({0, 3}, "1:numa_placement=false", mask_of({0, 2}));
  EXPECT_EQ(requests[0].host_node, 0);
  EXPECT_EQ(requests[1].host_node, -1);
  EXPECT_EQ(requests[1].no_host_node, "") << "the user knows why";
}

// requirement: pinned memory of one device is allocated under the policy of the device's node
TEST_F(NumaPlacement, PinnedMemoryIsAllocatedNearTheDevice) {
  int expected = MPOL_PREFERRED;
  // In a container that refuses the calls, the policy never changes.
  if (::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0ul) != 0) { expected = policy_mode(); }
  int const before = policy_mode();
  for (int const node : {0, -1}) {
    context_handle const near{recording(), cpu(), on_node(node)};
    ASSERT_EQ(api()->ctx_push_current(near.handle()), CUDA_SUCCESS);
    int const wanted = node < 0 ? before : expected;

    mode_in_call = -1;
    void* memory = nullptr;
    EXPECT_EQ(allocate_pinned(near, memory, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
    EXPECT_EQ(mode_in_call, wanted) << node;
    EXPECT_EQ(api()->mem_free_host(memory), CUDA_SUCCESS);

    mode_in_call = -1;
    dispatch::registered_memory registered{near, 4096};
    EXPECT_EQ(mode_in_call, wanted) << node;
    registered.unregister();

    CUcontext popped = nullptr;
    EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
    EXPECT_EQ(policy_mode(), before);
  }
}

// requirement: the settings of a context say whether it has a preference
TEST_F(NumaPlacement, TheContextReportsThePreference) {
  context_handle const near{api(), cpu(), on_node(0)};
  EXPECT_EQ(near.effective().numa_placement, true);
  request refused;
  refused.no_host_node = "because of the test";
  context_handle const far{api(), cpu(), refused};
  EXPECT_EQ(far.effective().numa_placement, false);
  settings_report const made = report(far.where(), far.asked(), far.effective(), far.refused());
  auto const found = std::find_if(made.outcomes.begin(), made.outcomes.end(),
                                  [](auto const& each) { return each.name == "numa_placement"; });
  ASSERT_NE(found, made.outcomes.end());
  EXPECT_EQ(found->note, "because of the test");
  EXPECT_EQ(found->kind, setting_outcome::kinds::by_default);
}

}  // namespace
}  // namespace flotilla::context
