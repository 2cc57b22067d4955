// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two controls: a CUDA graph that every run builds, and the same graph built once and relaunched.
// With two devices, one graph has the kernels of both.

#include "driver/check.hpp"
#include "driver_devices.hpp"
#include "variant.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

class graph_variant final : public variant {
 public:
  graph_variant(driver_devices& devices, bool relaunched)
      : devices_{devices}, relaunched_{relaunched} {
    driver_devices::scope const current{devices_, 0};
    check(devices_.api().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          control_subject);
  }

  ~graph_variant() override {
    driver_devices::scope const current{devices_, 0};
    destroy();
    devices_.api().stream_destroy(stream_);
  }

  [[nodiscard]] std::string why_not() const override {
    driver::table const& api = devices_.api();
    bool const has_graphs = api.graph_create != nullptr && api.graph_destroy != nullptr &&
                            api.graph_add_kernel_node != nullptr &&
                            api.graph_instantiate_with_flags != nullptr &&
                            api.graph_exec_destroy != nullptr && api.graph_launch != nullptr;
    return has_graphs ? "" : "the driver has no graphs";
  }

  void prepare(task_graph const& graph) override {
    devices_.fit(graph);
    graph_ = &graph;
    calls_.clear();
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      calls_.push_back(devices_.task(graph, i));
    }
    nodes_.assign(graph.tasks().size(), nullptr);
    driver_devices::scope const current{devices_, 0};
    destroy();
    if (relaunched_) { build(); }
  }

  void clear() override {
    devices_.clear();
    driver_devices::scope const current{devices_, 0};
    if (!relaunched_) { destroy(); }  // here, because the destruction is not measured
  }
  void read(std::vector<std::uint64_t>& values) override { devices_.read(values); }

  void run() override {
    driver_devices::scope const current{devices_, 0};
    if (!relaunched_) { build(); }
    check(devices_.api().graph_launch(executable_, stream_), "cuGraphLaunch", control_subject);
    check(devices_.api().stream_synchronize(stream_), "cuStreamSynchronize", control_subject);
  }

 private:
  void build() {
    driver::table const& api = devices_.api();
    check(api.graph_create(&description_, 0), "cuGraphCreate", control_subject);
    CUDA_KERNEL_NODE_PARAMS params{};
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 32;
    params.blockDimY = params.blockDimZ = 1;
    std::vector<CUgraphNode> after;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      after.clear();
      for (std::uint32_t const each : graph_->predecessors(i)) { after.push_back(nodes_[each]); }
      driver_devices::call& task = calls_[i];
      void* arguments[] = {&task.argument, &task.mirror};
      params.func =
          task.kernel;  // the driver ignores the mirror if this kernel has no such parameter
      params.kernelParams = arguments;
      check(
          api.graph_add_kernel_node(&nodes_[i], description_, after.data(), after.size(), &params),
          "cuGraphAddKernelNode", control_subject);
    }
    check(api.graph_instantiate_with_flags(&executable_, description_, 0),
          "cuGraphInstantiateWithFlags", control_subject);
  }

  void destroy() {
    if (executable_ != nullptr) { devices_.api().graph_exec_destroy(executable_); }
    if (description_ != nullptr) { devices_.api().graph_destroy(description_); }
    executable_ = nullptr;
    description_ = nullptr;
  }

  driver_devices& devices_;
  bool const relaunched_;
  CUstream stream_ = nullptr;
  task_graph const* graph_ = nullptr;
  std::vector<driver_devices::call> calls_;
  std::vector<CUgraphNode> nodes_;
  CUgraph description_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace

std::unique_ptr<variant> make_graph_variant(driver_devices& devices, bool relaunched) {
  return std::make_unique<graph_variant>(devices, relaunched);
}

}  // namespace flotilla::bench
