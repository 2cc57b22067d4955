// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how long does a copy between two devices take, from submit until the submitting thread
//           sees its end (4 KiB), and as one of many copies that are submitted at once (64 MiB)?
// Control:  cuMemcpyPeerAsync in one stream, between two cuMemAlloc allocations of contexts that
//           have peer access, and one cuStreamSynchronize.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <flotilla/device/peer_access.hpp>

#include "bench_suite.hpp"
#include "control_subject.hpp"
#include "driver/check.hpp"
#include "lone_timing.hpp"
#include "plain_peers.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr device_ordinal source{0}, destination{1};

runtime_fixture& peers() {
  need_devices(2);
  auto& fixture =
      get_fixture<runtime_fixture>({.devices = 2, .workers = 1, .schedule = wait_policy::spin});
  std::string const why = why_no_peer_access(fixture.rt, destination, source);
  if (!why.empty()) { throw not_available{"needs two devices that are peers: " + why}; }
  return fixture;
}

/// A block of memory on each of two devices, with peer access in both directions. The copies are
/// made in the stream of the second device, as flotilla makes them.
class plain_peers {
 public:
  explicit plain_peers(std::size_t bytes)
      : plain_(peer_driver()), ends_(plain_.targets(0)), bytes_(bytes) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      plain_.push(ends_[i]);
      check(plain_.api().mem_alloc(&memory_[i], bytes), "cuMemAlloc", control_subject);
      plain_.pop();
    }
    plain_.push(ends_[1]);
  }
  ~plain_peers() {
    for (CUdeviceptr const each : memory_) { plain_.api().mem_free(each); }
    plain_.pop();
  }
  plain_peers(plain_peers const&) = delete;
  plain_peers& operator=(plain_peers const&) = delete;

  void copy() const {
    check(plain_.api().memcpy_peer_async(memory_[1], ends_[1].context, memory_[0], ends_[0].context,
                                         bytes_, ends_[1].stream),
          "cuMemcpyPeerAsync", control_subject);
  }
  void synchronize() const { plain_.synchronize(ends_[1]); }

 private:
  plain_driver& plain_;
  std::vector<plain_driver::launch_target> const& ends_;
  std::size_t const bytes_;
  std::array<CUdeviceptr, 2> memory_{};
};

void add_small(bench_suite& suite) {
  constexpr std::size_t bytes = 4096;
  std::int64_t const times = suite.amount().lone;
  figure_tags tags{.who = "flotilla", .what = "peer copy of 4 KiB", .devices = 2, .backlog = 1};
  suite.measure("flotilla, peer copy of 4 KiB", tags, [=](figure& result) {
    auto& fixture = peers();
    device_buffer<std::byte> const from{fixture.rt, source, bytes};
    device_buffer<std::byte> to{fixture.rt, destination, bytes};
    memory_op const copy = from.copy_to(to);
    return time_each(result, times, [&] { fixture.rt.submit(copy).wait(); });
  });
  tags.who = "cuMemcpyPeerAsync";
  suite.measure("cuMemcpyPeerAsync of 4 KiB", tags, [=](figure& result) {
    plain_peers const plain{bytes};
    return time_each(result, times, [&] {
      plain.copy();
      plain.synchronize();
    });
  });
  suite.compare({.id = "copy_peer_4k",
                 .subject = "flotilla, peer copy of 4 KiB",
                 .of = statistic::p50,
                 .control = "cuMemcpyPeerAsync + cuStreamSynchronize",
                 .controls = {"cuMemcpyPeerAsync of 4 KiB"},
                 .max_ratio = 1.2});
}

void add_large(bench_suite& suite) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  std::int64_t const copies = suite.is_quick() ? 2 : suite.on_gpus() ? 64 : 8;
  figure_tags tags{
      .who = "flotilla", .what = "peer copy of 64 MiB", .devices = 2, .backlog = copies};
  suite.measure("flotilla, peer copy of 64 MiB", tags, [=](figure&) {
    auto& fixture = peers();
    device_buffer<std::byte> const from{fixture.rt, source, bytes};
    device_buffer<std::byte> to{fixture.rt, destination, bytes};
    memory_op const copy = from.copy_to(to);
    std::vector<ticket> open(static_cast<std::size_t>(copies));
    auto const start = clock::now();
    for (ticket& each : open) { each = fixture.rt.submit(copy); }
    for (ticket const& each : open) { each.wait(); }
    return ns_each(start, copies);
  });
  tags.who = "cuMemcpyPeerAsync";
  suite.measure("cuMemcpyPeerAsync of 64 MiB", tags, [=](figure&) {
    plain_peers const plain{bytes};
    auto const start = clock::now();
    for (std::int64_t i = 0; i < copies; ++i) { plain.copy(); }
    plain.synchronize();
    return ns_each(start, copies);
  });
  suite.compare({.id = "copy_peer_64m",
                 .subject = "flotilla, peer copy of 64 MiB",
                 .control = "cuMemcpyPeerAsync + cuStreamSynchronize",
                 .controls = {"cuMemcpyPeerAsync of 64 MiB"},
                 .max_ratio = 1 / 0.95});
}

}  // namespace

void add_peer_copies(bench_suite& suite) {
  add_small(suite);
  add_large(suite);
}

}  // namespace flotilla::bench
