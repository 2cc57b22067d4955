// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "halo_by_hand.hpp"

#include <bench_kernels.hpp>

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "machine.hpp"
#include "plain_peers.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

}  // namespace

halo_by_hand::halo_by_hand(halo_field const& field) : field_{field}, plain_{peer_driver()} {
  driver::table const& api = plain_.api();
  plain_.push(plain_.targets(0)[0]);
  void const* const code = api.kind == device_kind::gpu ? bench_kernels.gpu : bench_kernels.cpu;
  check(api.library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  plain_.pop();
  for (unsigned device = 0; device < parts_.size(); ++device) { create(device); }
}

halo_by_hand::~halo_by_hand() {
  for (part const& each : parts_) {
    plain_.push(each.target);
    for (CUdeviceptr const field : each.fields) { plain_.api().mem_free(field); }
    plain_.pop();
  }
  plain_.api().library_unload(library_);
}

void halo_by_hand::create(unsigned device) {
  driver::table const& api = plain_.api();
  part& made = parts_[device];
  made.target = plain_.targets(0)[device];
  plain_.push(made.target);
  CUkernel kernel = nullptr;
  check(api.library_get_kernel(&kernel, library_, "jacobi"), "cuLibraryGetKernel", control_subject);
  check(api.kernel_get_function(&made.kernel, kernel), "cuKernelGetFunction", control_subject);
  check(api.func_load(made.kernel), "cuFuncLoad", control_subject);
  std::vector<float> const initial = field_.initial(device);
  for (CUdeviceptr& field : made.fields) {
    check(api.mem_alloc(&field, field_.size() * sizeof(float)), "cuMemAlloc", control_subject);
    check(api.memcpy_htod(field, initial.data(), field_.size() * sizeof(float)), "cuMemcpyHtoD",
          control_subject);
  }
  plain_.pop();
}

void halo_by_hand::step(unsigned device, unsigned from) {
  driver::table const& api = plain_.api();
  part& here = parts_[device];
  plain_.push(here.target);
  CUdeviceptr in = here.fields[from], out = here.fields[1 - from];
  int width = field_.width;
  void* arguments[] = {&in, &out, &width};
  unsigned const blocks =
      (static_cast<unsigned>(field_.width) + halo_field::threads - 1) / halo_field::threads;
  check(api.launch_kernel(here.kernel, blocks, static_cast<unsigned>(field_.rows), 1,
                          halo_field::threads, 1, 1, 0, here.target.stream, arguments, nullptr),
        "cuLaunchKernel", control_subject);
  part const& there = parts_[1 - device];
  check(
      api.memcpy_peer_async(
          there.fields[1 - from] + field_.received_row(1 - device) * sizeof(float),
          there.target.context, out + field_.sent_row(device) * sizeof(float), here.target.context,
          static_cast<std::size_t>(field_.width) * sizeof(float), here.target.stream),
      "cuMemcpyPeerAsync", control_subject);
  plain_.record(here.target);
  plain_.pop();
}

void halo_by_hand::run(int steps) {
  driver::table const& api = plain_.api();
  for (int i = 0; i < steps; ++i) {
    for (unsigned device = 0; device < parts_.size(); ++device) {
      step(device, static_cast<unsigned>(i % 2));
    }
    for (unsigned device = 0; device < parts_.size(); ++device) {
      plain_.push(parts_[device].target);
      check(api.stream_wait_event(parts_[device].target.stream, parts_[1 - device].target.event, 0),
            "cuStreamWaitEvent", control_subject);
      plain_.pop();
    }
  }
  plain_.synchronize_all(0);
}

std::vector<float> halo_by_hand::read(unsigned device) const {
  std::vector<float> values(field_.size());
  plain_.push(parts_[device].target);
  check(plain_.api().memcpy_dtoh(values.data(), parts_[device].fields[0],
                                 values.size() * sizeof(float)),
        "cuMemcpyDtoH", control_subject);
  plain_.pop();
  return values;
}

void halo_by_hand::verify(int steps) const { field_.check(read(0), read(1), steps); }

}  // namespace flotilla::bench
