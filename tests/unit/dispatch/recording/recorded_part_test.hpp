// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A recorded part without a runtime, and a driver table that counts calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/runtime.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "dispatch/recording/recorded_part.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {

/// A copy of the CPU driver's table that counts calls. The state is static, so only one such table
/// can exist at a time.
struct counting_driver {
  static inline driver::table real;
  static inline CUfunction twin = nullptr;
  // The address of the records that `twin` was told to read, one entry for each call.
  static inline std::vector<void*> records;
  static inline int rewrites = 0;       // of kernel nodes
  static inline int graphs = 0;         // that were instantiated
  static inline int registrations = 0;  // of host memory
  static inline int device_copies = 0;  // allocations of device memory that are not freed

  static CUresult CUDAAPI set_kernel(CUgraphExec in, CUgraphNode node,
                                     CUDA_KERNEL_NODE_PARAMS const* what) {
    ++rewrites;
    if (what->func == twin) { records.push_back(*static_cast<void**>(what->kernelParams[0])); }
    return real.graph_exec_kernel_node_set_params(in, node, what);
  }
  static CUresult CUDAAPI instantiate(CUgraphExec* made, CUgraph of,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
    ++graphs;
    return real.graph_instantiate_with_params(made, of, how);
  }
  static CUresult CUDAAPI register_memory(void* what, std::size_t bytes, unsigned flags) {
    ++registrations;
    return real.mem_host_register(what, bytes, flags);
  }
  static CUresult CUDAAPI allocate(CUdeviceptr* made, std::size_t bytes, CUstream stream) {
    ++device_copies;
    return real.mem_alloc_async(made, bytes, stream);
  }
  static CUresult CUDAAPI free(CUdeviceptr what, CUstream stream) {
    --device_copies;
    return real.mem_free_async(what, stream);
  }
  static std::shared_ptr<driver::table const> over(
      std::shared_ptr<driver::table const> const& api) {
    real = *api;
    records.clear();
    rewrites = graphs = registrations = device_copies = 0;
    auto made = std::make_shared<driver::table>(*api);
    made->graph_exec_kernel_node_set_params = set_kernel;
    made->graph_instantiate_with_params = instantiate;
    made->mem_host_register = register_memory;
    made->mem_alloc_async = allocate;
    made->mem_free_async = free;
    return made;
  }
};

class recorded_part_test : public template_test {
 protected:
  static constexpr std::uint32_t tasks = 40, width = 8;  // five levels

  recorded_part_test() : template_test{counting_driver::over(api())} {
    limits_.create(context_);
    // The launches contain kernel indices of the runtime `rt_`. This table must have the same
    // kernels at these indices.
    for (std::uint32_t i = builtin_index::count;
         i <= std::max(detail::access::kernel_index(adding(0, 0)),
                       detail::access::kernel_index(nothing()));
         ++i) {
      bool const adds = i == detail::access::kernel_index(adding(0, 0));
      table_.kernels.add([&](kernel_entry& made) {
        made.name = adds ? "add_to" : "nothing";
        if (adds) { made.parameters = {{0, 8}, {8, 4}}; }
        made.argument_bytes = adds ? 12 : 0;
        made.functions = {function(adds ? "add_to" : "nothing")};
        made.twin.functions = {function((made.name + std::string{detail::twin_suffix}).c_str())};
        made.twin.max_threads = 1024;
        if (adds) { counting_driver::twin = made.twin.functions[0]; }
      });
    }
    for (std::uint32_t i = 0; i < tasks; ++i) {
      plan_.tasks.push_back(i);
      if (i >= width) { plan_.after.push(i - width); }
      plan_.after.close();
      plan_.levels.push_back(i / width);
      actions_.put(i, adding(i, 1));
    }
    // The last task is a fill, which is a node of its own.
    plan_.tasks.push_back(tasks);
    plan_.after.close();
    plan_.levels.push_back(0);
    actions_.put(tasks, filling(1));
    make_part();
  }
  ~recorded_part_test() override {
    testing::clear_faults();
    settle();
    part_->destroy();
    memory_.destroy();
  }
  void make_part() {
    part_ = std::make_unique<recorded_part>(
        context_, recorded_part::build_args{plan_,
                                            actions_,
                                            table_,
                                            limits_,
                                            lane_.counter(),
                                            {},
                                            memory_,
                                            page_,
                                            lane_.stream(),
                                            [this](std::uint32_t) { return kernel_ns_; }});
    EXPECT_EQ(part_->upload(lane_.stream()), CUDA_SUCCESS);
    settle();  // now the copy of the records on the device is made
  }
  launch adding(std::uint32_t task, std::uint32_t amount, std::uint32_t blocks = 1,
                std::uint32_t threads = 1) {
    return program_.add.with_shape({blocks}, {threads})(&sums_[task], amount);
  }
  detail::memory_command filling(std::uint32_t value) {
    return detail::access::command(filled_.fill(value));
  }
  launch nothing() { return program_.nothing.with_shape({1}, {1})(); }
  /// Puts a change of `task` into the list `in`, or into a new list. @return the list, which can be
  /// passed to `replay`.
  template <class Action>
  std::uint32_t change(std::uint32_t task, Action const& what,
                       std::uint32_t in = change_lists::none) {
    if (in == change_lists::none) { in = part_->lists.take(); }
    part_->lists.at(in).put(task, what);
    return in;
  }
  /// Replays the part in the same steps as replayer::start.
  CUresult replay(std::uint32_t changes = change_lists::none) {
    CUresult const answer = enqueue(changes);
    EXPECT_TRUE(reaches(number_));
    return answer;
  }
  CUresult enqueue(std::uint32_t changes) {
    if (auto const refused = part_->rewrite(changes); refused.why.status != CUDA_SUCCESS) {
      part_->defer(changes);
      return refused.why.status;
    }
    CUresult const answer = part_->enqueue(lane_, number_ + 1).status;
    if (answer != CUDA_SUCCESS) {
      part_->defer(changes);
      return answer;
    }
    ++number_;
    if (changes != change_lists::none) { part_->lists.give_back(changes); }
    return answer;
  }
  std::uint32_t take(std::uint32_t task) { return std::atomic_ref{sums_[task]}.exchange(0); }

  runtime rt_{{.devices = "cpu:1", .workers = 0}};
  test::test_program program_{rt_};
  device_buffer<std::uint32_t> filled_{rt_, device_ordinal{0}, 1};
  registered_slabs memory_{context_};
  grid_limits limits_;
  kernel_table table_;
  planned_part plan_;
  change_list actions_{0};
  std::array<std::uint32_t, tasks> sums_{};
  std::unique_ptr<recorded_part> part_;
  std::uint64_t number_ = 0;
  float kernel_ns_ = 0;
};

}  // namespace flotilla::dispatch
