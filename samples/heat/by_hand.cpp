// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "by_hand.hpp"

#include <stdexcept>
#include <utility>

#include "driver_calls.hpp"
#include "heat_kernels.hpp"

namespace heat {

namespace {

/// Memory of the device whose context is current.
class memory {
 public:
  explicit memory(std::size_t count) {
    check(driver_calls::get().allocate(&address, count * sizeof(float)), "cuMemAlloc");
  }
  memory(memory&& other) noexcept : address(std::exchange(other.address, 0)) {}
  memory& operator=(memory&&) = delete;
  ~memory() {
    if (address != 0) { driver_calls::get().free(address); }
  }
  CUdeviceptr address = 0;
};

}  // namespace

/// The primary context of a device.
class by_hand::device_context {
 public:
  explicit device_context(flotilla::device const& of) {
    check(driver_calls::get().get_device(&device, of.driver_ordinal), "cuDeviceGet");
    check(driver_calls::get().retain_context(&context, device), "cuDevicePrimaryCtxRetain");
  }
  device_context(device_context const&) = delete;
  device_context& operator=(device_context const&) = delete;
  ~device_context() { driver_calls::get().release_context(device); }

  /// Lets this device access the memory of `peer`, if it can. Without access, copies go through the
  /// host.
  void use_memory_of(device_context const& peer) const {
    int can = 0;
    check(driver_calls::get().can_access_peer(&can, device, peer.device), "cuDeviceCanAccessPeer");
    if (can == 0) { return; }
    current_context const scope{context};
    CUresult const status = driver_calls::get().enable_peer_access(peer.context, 0);
    if (status != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      check(status, "cuCtxEnablePeerAccess");
    }
  }

  CUdevice device = 0;
  CUcontext context = nullptr;
  CUfunction kernel = nullptr;
};

/// The memory of a band, its stream, and an event: the end of its last step. The context must be
/// current when it is made and when it ends.
class by_hand::band_memory {
 public:
  band_memory(band const& of, device_context& on) : where(of), home(on) {
    driver_calls const& driver = driver_calls::get();
    for (state& each : states) {
      std::size_t const columns = of.shape.columns;
      each.rows.emplace_back(of.shape.rows * columns);
      for (int i = 0; i < 4; ++i) { each.edges.emplace_back(columns); }
    }
    check(driver.create_stream(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check(driver.create_event(&done, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
  band_memory(band_memory const&) = delete;
  band_memory& operator=(band_memory const&) = delete;
  ~band_memory() {
    driver_calls::get().destroy_event(done);
    driver_calls::get().destroy_stream(stream);
  }

  struct state {
    std::vector<memory> rows;   // one
    std::vector<memory> edges;  // first, last; then the received rows above and below
    [[nodiscard]] CUdeviceptr first() const { return edges[0].address; }
    [[nodiscard]] CUdeviceptr last() const { return edges[1].address; }
    [[nodiscard]] CUdeviceptr above() const { return edges[2].address; }
    [[nodiscard]] CUdeviceptr below() const { return edges[3].address; }
  };
  band where;
  device_context& home;
  std::array<state, 2> states;
  CUstream stream = nullptr;
  CUevent done = nullptr;
};

by_hand::by_hand(float alpha) : alpha_(alpha) {}

// The other constructor is called first, so that the destructor runs if this one throws.
by_hand::by_hand(std::vector<flotilla::device> const& devices, field const& start,
                 std::vector<band> const& bands, float alpha)
    : by_hand(alpha) {
  order_ = order_of(bands);
  driver_calls const& driver = driver_calls::get();
  for (flotilla::device const& each : devices) {
    contexts_.push_back(std::make_unique<device_context>(each));
  }
  for (auto const& one : contexts_) {
    for (auto const& other : contexts_) {
      if (one != other) { one->use_memory_of(*other); }
    }
  }
  {
    current_context const scope{contexts_[0]->context};
    bool const is_gpu = devices[0].kind == flotilla::device_kind::gpu;
    check(driver.load_library(&library_, is_gpu ? heat_kernels.gpu : heat_kernels.cpu, nullptr,
                              nullptr, 0, nullptr, nullptr, 0),
          "cuLibraryLoadData");
  }
  CUkernel kernel = nullptr;
  check(driver.get_kernel(&kernel, library_, heat_kernels.heat_step.name), "cuLibraryGetKernel");
  for (auto const& each : contexts_) {
    current_context const scope{each->context};
    check(driver.get_function(&each->kernel, kernel), "cuKernelGetFunction");
  }
  std::size_t const row_bytes = start.columns * sizeof(float);
  for (band const& each : bands) {
    device_context& home = *contexts_[each.home.device.value];
    current_context const scope{home.context};
    bands_.push_back(std::make_unique<band_memory>(each, home));
    auto const& to = bands_.back()->states[0];
    float const* const rows = start.values.data() + each.first_row * start.columns;
    float const* const last = rows + (each.shape.rows - 1) * start.columns;
    check(driver.copy_to_device(to.rows[0].address, rows, each.shape.rows * row_bytes),
          "cuMemcpyHtoD");
    check(driver.copy_to_device(to.first(), rows, row_bytes), "cuMemcpyHtoD");
    check(driver.copy_to_device(to.last(), last, row_bytes), "cuMemcpyHtoD");
    if (each.first_row != 0) {
      check(driver.copy_to_device(to.above(), rows - start.columns, row_bytes), "cuMemcpyHtoD");
    }
    if (each.first_row + each.shape.rows != start.rows) {
      check(driver.copy_to_device(to.below(), last + start.columns, row_bytes), "cuMemcpyHtoD");
    }
  }
}

by_hand::~by_hand() {
  for (auto& each : bands_) {
    current_context const scope{each->home.context};
    each.reset();
  }
  if (library_ != nullptr) { driver_calls::get().unload_library(library_); }
}

void by_hand::wait_for_neighbours(std::size_t index) {
  band_memory const& here = *bands_[index];
  current_context const scope{here.home.context};
  auto const wait = [&](band_memory const& neighbour) {
    check(driver_calls::get().wait(here.stream, neighbour.done, 0), "cuStreamWaitEvent");
  };
  if (index != 0) { wait(*bands_[index - 1]); }
  if (index + 1 != bands_.size()) { wait(*bands_[index + 1]); }
}

void by_hand::step(std::size_t index) {
  band_memory const& here = *bands_[index];
  current_context const scope{here.home.context};
  auto const& from = here.states[now_];
  auto const& to = here.states[1 - now_];
  CUdeviceptr in = from.rows[0].address, out = to.rows[0].address;
  CUdeviceptr above = from.above(), below = from.below(), first = to.first(), last = to.last();
  if (index != 0 && &bands_[index - 1]->home == &here.home) {
    above = bands_[index - 1]->states[now_].last();
  }
  if (index + 1 != bands_.size() && &bands_[index + 1]->home == &here.home) {
    below = bands_[index + 1]->states[now_].first();
  }
  band_shape shape = here.where.shape;
  block_counts const blocks = blocks_for(shape);
  void* arguments[] = {&in, &above, &below, &out, &first, &last, &shape, &alpha_};
  check(driver_calls::get().launch(here.home.kernel, blocks.x, blocks.y, 1, threads_per_block, 1, 1,
                                   0, here.stream, arguments, nullptr),
        "cuLaunchKernel");
  send_edges(index);
  check(driver_calls::get().record(here.done, here.stream), "cuEventRecord");
}

void by_hand::send_edges(std::size_t index) {
  band_memory const& here = *bands_[index];
  auto const& made = here.states[1 - now_];
  auto const send = [&](CUdeviceptr edge, band_memory const& neighbour, CUdeviceptr to) {
    if (&neighbour.home == &here.home) { return; }
    check(driver_calls::get().copy_to_peer(to, neighbour.home.context, edge, here.home.context,
                                           here.where.shape.columns * sizeof(float), here.stream),
          "cuMemcpyPeerAsync");
  };
  if (index != 0) {
    band_memory const& neighbour = *bands_[index - 1];
    send(made.first(), neighbour, neighbour.states[1 - now_].below());
  }
  if (index + 1 != bands_.size()) {
    band_memory const& neighbour = *bands_[index + 1];
    send(made.last(), neighbour, neighbour.states[1 - now_].above());
  }
}

void by_hand::run(std::size_t steps) {
  for (; steps != 0; --steps) {
    // First all waits: a wait is for the event as it was recorded last, so it must be the one of
    // the step before.
    for (std::size_t i = 0; i < bands_.size(); ++i) { wait_for_neighbours(i); }
    for (std::size_t const i : order_) { step(i); }
    now_ = 1 - now_;
  }
  for (auto const& each : bands_) {
    current_context const scope{each->home.context};
    check(driver_calls::get().synchronize(each->stream), "cuStreamSynchronize");
  }
}

void by_hand::copy_to(field& to) {
  for (auto const& each : bands_) {
    current_context const scope{each->home.context};
    check(driver_calls::get().copy_to_host(
              to.values.data() + each->where.first_row * to.columns,
              each->states[now_].rows[0].address,
              std::size_t{each->where.shape.rows} * to.columns * sizeof(float)),
          "cuMemcpyDtoH");
  }
}

}  // namespace heat
