// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What flows over ranks cost. Run it with mpirun; rank 0 prints the medians:
//
//   mpirun -n 2 ranks_bench [ROW...]
//
//   chain    empty tasks on alternating ranks, which change 1 KiB, us a step
//   by_hand  the same without a flow: the program copies, launches, waits and calls MPI
//   stencil  16 bands of 1 KiB, each task reads three, us a step of 16 tasks
//   skip     the submit of a task of another rank, ns
//   flood    copies of 64 bytes from rank 0 to rank 1, ns each; and the messages for 256
//   large    copies of 1 MiB between ranks, through the memory of devices, GB/s

#include <flotilla/mpi.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <flotilla/cluster/distribution.hpp>
#include <flotilla/flotilla.hpp>

#include "steps.hpp"

namespace {

using namespace flotilla;
using words = data<std::uint32_t>;

constexpr int repetitions = 5;

class ranks_bench {
 public:
  ranks_bench(runtime& rt, cluster& all)
      : rt_(rt), all_(all), program_(rt.load(steps)), flow_(all) {}

  void chain() {
    print("chain", "us a step", [&] { return chain_of(256, 500) / 1e3; });
  }
  void large() {
    constexpr std::size_t count = 1 << 18;
    print("large", "GB/s", [&] {
      return static_cast<double>(count * sizeof(std::uint32_t)) / chain_of(count, 50, true);
    });
  }

  void stencil() {
    constexpr std::size_t bands = 16, width = 256;
    words now{flow_, {bands * width}, "now"}, next{flow_, {bands * width}, "next"};
    auto a = now.tiles({width}, blocks(all_)), b = next.tiles({width}, blocks(all_));
    for (std::size_t i = 0; i < bands; ++i) {
      flow_.post(uses(write(a(i))), host_task([](view<std::uint32_t>) {}));
    }
    auto const kernel = program_.kernel(steps.stencil_words);
    print("stencil", "us a step", [&] {
      constexpr int steps_of_run = 200;
      return nanoseconds([&] {
               for (int step = 0; step < steps_of_run; ++step) {
                 for (std::size_t i = 0; i < bands; ++i) {
                   std::size_t const left = i == 0 ? i : i - 1, right = i + 1 == bands ? i : i + 1;
                   flow_.post(kernel.over(width, 32)(write(b(i)), read(a(left)), read(a(i)),
                                                     read(a(right)), std::uint32_t{width}));
                 }
                 std::swap(a, b);
               }
             }) /
             steps_of_run / 1e3;
    });
  }

  void skip() {
    words x{flow_, {16}, "x"};
    flow_.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    auto const kernel = program_.kernel(steps.touch_word).over(1);
    all_.wait_idle();
    constexpr int count = 100'000;
    print(
        "skip", "ns",
        [&] {
          if (all_.rank() == 0) { return 0.0; }
          auto const begun = std::chrono::steady_clock::now();
          for (int i = 0; i < count; ++i) { flow_.post(kernel(update(x)), {.rank = 0}); }
          return since(begun) / count;
        },
        1);
    // Rank 0 submits the same tasks.
    for (int i = 0; i < repetitions * count && all_.rank() == 0; ++i) {
      flow_.post(kernel(update(x)), {.rank = 0});
    }
    all_.wait_idle();
  }

  void flood() {
    constexpr std::size_t count = 256;
    std::vector<words> sent;
    for (std::size_t i = 0; i < count; ++i) {
      sent.emplace_back(flow_, std::array<std::size_t, 1>{16});
      flow_.post(uses(write(sent.back())), host_task([](view<std::uint32_t>) {}));
    }
    auto const kernel = program_.kernel(steps.touch_word).over(1);
    std::uint64_t messages = 0;
    print("flood", "ns a copy", [&] {
      for (words& each : sent) { flow_.post(kernel(update(each))); }
      for (words& each : sent) { each.owner() == all_.rank() ? each.prefetch_to_host() : void(); }
      all_.wait_idle();
      std::uint64_t const before = all_.counters().messages_sent;
      double const took = nanoseconds([&] {
        for (words& each : sent) { each.set_owner(1); }
      });
      messages = all_.counters().messages_sent - before;
      for (words& each : sent) { each.set_owner(0); }
      all_.wait_idle();
      return took / count;
    });
    if (all_.rank() == 0) {
      std::printf("%-10s %10llu\n", "messages", static_cast<unsigned long long>(messages));
    }
  }

  void by_hand() {
    if (all_.ranks() != 2) { return; }
    constexpr std::size_t count = 256;
    constexpr int steps_of_run = 500;
    host_buffer<std::uint32_t> host{rt_, count};
    device_buffer<std::uint32_t> device{rt_, device_ordinal{0}, count};
    auto const kernel = program_.kernel(steps.step_words);
    print("by_hand", "us a step", [&] {
      return nanoseconds([&] {
               for (int i = 0; i < steps_of_run; ++i) {
                 int const other = 1 - all_.rank();
                 int const tag = i;
                 MPI_Request request = MPI_REQUEST_NULL;
                 auto const finish = [&] {
                   for (int done = 0; done == 0;) {
                     MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                     if (done == 0) { rt_.pump(); }
                   }
                 };
                 if (i % 2 != all_.rank()) {
                   MPI_Irecv(host.data(), count * sizeof(std::uint32_t), MPI_BYTE, other, tag,
                             MPI_COMM_WORLD, &request);
                   finish();
                   continue;
                 }
                 ticket const up = rt_.submit(device.copy_from(host));
                 ticket const ran = rt_.submit(kernel.over(count, 32)(device, std::uint32_t{count}),
                                               {.after = {up}});
                 rt_.submit(device.copy_to(host), {.after = {ran}}).wait();
                 MPI_Isend(host.data(), count * sizeof(std::uint32_t), MPI_BYTE, other, tag,
                           MPI_COMM_WORLD, &request);
                 finish();
               }
             }) /
             steps_of_run / 1e3;
    });
  }

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] static double since(clock::time_point begun) {
    return std::chrono::duration<double, std::nano>(clock::now() - begun).count();
  }
  /// Returns the time from before `submit` until all ranks are idle.
  template <class Submit>
  [[nodiscard]] double nanoseconds(Submit const& submit) {
    all_.wait_idle();
    auto const begun = clock::now();
    submit();
    rt_.wait_idle();
    double const took = since(begun);
    all_.wait_idle();
    return took;
  }
  /// Returns the time of a step of a chain over all ranks.
  [[nodiscard]] double chain_of(std::size_t count, int steps_of_run, bool touches = false) {
    words x{flow_, {count}, "x"};
    flow_.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    auto const all = program_.kernel(steps.step_words);
    auto const one = program_.kernel(steps.touch_word);
    auto const size = static_cast<std::uint32_t>(count);
    return nanoseconds([&] {
             for (int i = 0; i < steps_of_run; ++i) {
               task_options const on{.rank = i % all_.ranks()};
               touches ? flow_.post(one.over(1)(update(x)), on)
                       : flow_.post(all.over(size, 32)(update(x), size), on);
             }
           }) /
           steps_of_run;
  }
  template <class Measure>
  void print(char const* name, char const* unit, Measure const& measure, int from = 0) {
    std::array<double, repetitions> seen{};
    measure();  // the first time loads kernels and gets memory
    for (double& each : seen) { each = measure(); }
    std::sort(seen.begin(), seen.end());
    if (all_.rank() != from) { return; }
    std::printf("%-10s %10.2f %s (%.2f to %.2f)\n", name, seen[repetitions / 2], unit, seen.front(),
                seen.back());
    std::fflush(stdout);
  }

  runtime& rt_;
  cluster& all_;
  program program_;
  flow flow_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  {
    // The thread that submits also drives the devices, as in many MPI programs: a rank often has
    // only one processor.
    runtime rt{{.workers = 0}};
    cluster all{rt, mpi(MPI_COMM_WORLD)};
    all.run([&] {
      ranks_bench bench{rt, all};
      struct {
        char const* name;
        void (ranks_bench::*run)();
      } const rows[] = {{"chain", &ranks_bench::chain},     {"by_hand", &ranks_bench::by_hand},
                        {"stencil", &ranks_bench::stencil}, {"skip", &ranks_bench::skip},
                        {"flood", &ranks_bench::flood},     {"large", &ranks_bench::large}};
      for (auto const& row : rows) {
        bool const is_asked =
            argc == 1 || std::find(argv + 1, argv + argc, std::string{row.name}) != argv + argc;
        if (is_asked) { (bench.*row.run)(); }
      }
    });
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  std::printf("rank %d done\n", rank);
}
