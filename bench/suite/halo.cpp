// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a step of the Jacobi method on two devices cost, in which each device sends a
//           row of its part to the other device?
// Control:  streams, events and cuMemcpyPeerAsync with peer access.

#include <array>
#include <span>
#include <utility>
#include <vector>

#include <bench_kernels.hpp>

#include "bench_suite.hpp"
#include "halo_by_hand.hpp"
#include "halo_field.hpp"
#include "machine.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

class halo_tasks {
 public:
  halo_tasks(runtime_fixture& fixture, halo_field const& field)
      : rt_{fixture.rt}, field_{field}, program_{fixture.rt.load(bench_kernels)} {
    for (unsigned device = 0; device < 2; ++device) {
      std::vector<float> const initial = field.initial(device);
      for (unsigned i = 0; i < 2; ++i) {
        fields_[device].emplace_back(rt_, device_ordinal{device}, std::span{initial});
      }
    }
  }

  /// Runs `steps` steps, which must be even, and waits for their end.
  void run(int steps) {
    std::array<ticket, 2> computed, received;
    for (int i = 0; i < steps; ++i) {
      auto const from = static_cast<unsigned>(i % 2);
      for (unsigned device = 0; device < 2; ++device) {
        task_options options;
        if (i != 0) { options.after = {computed[device], received[device]}; }
        computed[device] = rt_.submit(step(device, from), options);
      }
      for (unsigned device = 0; device < 2; ++device) {
        received[1 - device] = rt_.submit(send(device, 1 - from), {.after = {computed[device]}});
      }
    }
    for (ticket const& each : computed) { each.wait(); }
    for (ticket const& each : received) { each.wait(); }
  }
  /// Checks the fields after `steps` steps. @throws std::runtime_error
  void verify(int steps) {
    std::array<std::vector<float>, 2> parts;
    for (unsigned device = 0; device < 2; ++device) {
      parts[device].resize(field_.size());
      rt_.submit(fields_[device][0].copy_to(parts[device])).wait();
    }
    field_.check(parts[0], parts[1], steps);
  }

 private:
  launch step(unsigned device, unsigned from) {
    unsigned const blocks =
        (static_cast<unsigned>(field_.width) + halo_field::threads - 1) / halo_field::threads;
    return kernel_.with_shape({blocks, static_cast<unsigned>(field_.rows)}, {halo_field::threads})(
        std::as_const(fields_[device][from]), fields_[device][1 - from], field_.width);
  }
  memory_op send(unsigned device, unsigned field) {
    auto const width = static_cast<std::size_t>(field_.width);
    return fields_[device][field]
        .subspan(field_.sent_row(device), width)
        .copy_to(fields_[1 - device][field].subspan(field_.received_row(1 - device), width));
  }

  runtime& rt_;
  halo_field const field_;
  program program_;
  kernel<float const*, float*, int> kernel_ = program_.kernel<float const*, float*, int>("jacobi");
  std::array<std::vector<device_buffer<float>>, 2> fields_;
};

}  // namespace

void add_halo(bench_suite& suite) {
  bool const small = suite.is_quick() || !suite.on_gpus();
  halo_field const field =
      small ? halo_field{.width = 64, .rows = 8} : halo_field{.width = 4096, .rows = 512};
  int const steps = small ? 4 : 500;
  figure_tags tags{.who = "flotilla", .what = "halo", .devices = 2, .backlog = steps};
  suite.measure("flotilla, halo", tags, [=](figure&) {
    need_devices(2);
    auto& fixture = get_fixture<runtime_fixture>({.devices = 2, .workers = workers_for(2)});
    halo_tasks tasks{fixture, field};
    auto const start = clock::now();
    tasks.run(steps);
    double const each = ns_each(start, steps);
    tasks.verify(steps);
    return each;
  });
  tags.who = "streams and events";
  suite.measure("streams and events, halo", tags, [=](figure&) {
    halo_by_hand by_hand{field};
    auto const start = clock::now();
    by_hand.run(steps);
    double const each = ns_each(start, steps);
    by_hand.verify(steps);
    return each;
  });
  suite.compare({.id = "halo",
                 .subject = "flotilla, halo",
                 .control = "streams, events and cuMemcpyPeerAsync",
                 .controls = {"streams and events, halo"},
                 .max_ratio = 1.05});
}

}  // namespace flotilla::bench
