// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The code of the recipes in docs/manual/recipes. The pages include the parts between `recipe:` and
// `end`, so they show code that compiles and is tested.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <flotilla/flotilla.hpp>

#include "test_manual_kernels.hpp"

namespace {

constexpr int n = 1000;

flotilla::runtime_options two_devices() { return {.devices = "cpu:2"}; }

auto axpy_of(flotilla::runtime& rt) {
  return rt.load(test_manual_kernels).kernel(test_manual_kernels.axpy);
}

long count(std::vector<float> const& values, float value) {
  return std::count(values.begin(), values.end(), value);
}

void check_last(float value) { EXPECT_EQ(value, 5.0f); }

/// Stands for a library that enqueues work into a stream.
void call_library(CUstream_st* stream, float* data, std::size_t size) {
  EXPECT_NE(stream, nullptr);
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(size, n);
}

// recipe: a stream of tasks
class in_order {
 public:
  explicit in_order(flotilla::runtime& rt) : rt_{rt} {}

  /// Submits a launch, copy or fill that runs after everything submitted before.
  template <class What>
  flotilla::ticket const& submit(What const& what) {
    last_ = rt_.submit(what, {.after = after_});
    after_ = {last_};
    return last_;
  }
  /// Later tasks also run after `other`, as with cudaStreamWaitEvent.
  void wait_for(flotilla::ticket const& other) { after_.add(other); }
  /// Waits for the last task, as cudaStreamSynchronize does, and throws its error.
  void synchronize() const {
    if (last_.valid()) { last_.wait(); }
  }

 private:
  flotilla::runtime& rt_;
  flotilla::ticket last_;
  flotilla::dependency_list after_;
};
// end

// requirement: tasks of one object run in order, and after a task of another one
TEST(ManualRecipes, AStreamOfTasks) {
  flotilla::runtime rt{two_devices()};
  auto const axpy = axpy_of(rt);
  auto const devices = rt.devices();
  std::vector<float> result(n);
  flotilla::device_buffer<float> x{rt, devices[0], n}, y{rt, devices[1], n}, z{rt, devices[1], n};
  // recipe: two streams of tasks
  in_order first{rt}, second{rt};
  flotilla::ticket const& filled = first.submit(x.fill(1.0f));
  second.submit(y.fill(2.0f));
  second.wait_for(filled);
  second.submit(z.span().copy_from(x));
  second.submit(axpy.over(n)(3.0f, z, y, n));
  second.submit(y.copy_to(result));
  second.synchronize();
  // end
  EXPECT_EQ(count(result, 5.0f), n);
}

// requirement: the program that the page on CUDASTF shows
TEST(ManualRecipes, FromCudastf) {
  flotilla::runtime rt{two_devices()};
  flotilla::program const program = rt.load(test_manual_kernels);
  // recipe: CUDASTF
  std::vector<float> x(n, 1.0f), y(n, 2.0f);
  flotilla::flow flow{rt};
  flotilla::data<float> data_x{flow, x, "x"}, data_y{flow, y, "y"};
  auto const axpy = program.kernel(test_manual_kernels.axpy);

  flow.post(axpy.over(n)(3.0f, read(data_x), update(data_y), n));
  flow.post(uses(update(data_x)), [](flotilla::task_context& task, flotilla::view<float> all) {
    call_library(task.stream(), all.data, all.size());  // enqueues work, as cuBLAS does
  });
  float largest = 0;
  flow.post(uses(read(data_y)), flotilla::host_task([&](flotilla::view<float const> all) {
              largest = *std::max_element(all.data, all.data + all.size());
            }));

  rt.wait_idle();                                            // as ctx.finalize() waits
  flotilla::view<float const> const result = data_y.host();  // and `y` has the result
  // end
  EXPECT_EQ(largest, 5.0f);
  EXPECT_EQ(result(0), 5.0f);
  EXPECT_EQ(count(y, 5.0f), n);
}

// requirement: the program that the page on StarPU shows
TEST(ManualRecipes, FromStarpu) {
  flotilla::runtime rt{two_devices()};
  auto const axpy = axpy_of(rt);
  flotilla::flow flow{rt};
  std::vector<float> x(n, 1.0f), y(n, 2.0f);
  // recipe: StarPU
  {
    flotilla::data<float> vector_x{flow, x, "x"}, vector_y{flow, y, "y"};
    auto parts_x = vector_x.tiles({n / 4});
    auto parts_y = vector_y.tiles({n / 4});
    for (std::size_t i = 0; i < 4; ++i) {
      flow.post(axpy.over(n / 4)(3.0f, read(parts_x(i)), update(parts_y(i)), n / 4),
                {.label = "axpy", .priority = -1});
    }
    parts_x = {};
    parts_y = {};  // as starpu_data_unpartition
    flotilla::view<float const> const result = vector_y.host();
    check_last(result(n - 1));  // `y` has the result, as after starpu_data_unregister
  }
  // end
  EXPECT_EQ(count(y, 5.0f), n);
}

// requirement: many chains, whose results come one after the other
TEST(ManualRecipes, ManySmallChains) {
  constexpr int images = 40;
  flotilla::runtime rt{two_devices()};
  auto const axpy = axpy_of(rt);
  auto const devices = rt.devices();
  std::atomic<int> done = 0;
  std::vector<flotilla::device_buffer<float>> x, y;
  for (int i = 0; i < images; ++i) {
    flotilla::device const& device = devices[static_cast<std::size_t>(i) % devices.size()];
    x.emplace_back(rt, device, std::vector<float>(n, 1.0f));
    y.emplace_back(rt, device, std::vector<float>(n, static_cast<float>(i)));
  }
  // recipe: many small chains
  flotilla::host_buffer<float> results{rt, images * n};  // pinned
  for (int i = 0; i < images; ++i) {
    std::string const label = "image " + std::to_string(i);
    flotilla::dependency_list last;
    for (int step = 0; step < 3; ++step) {
      last = {rt.submit(axpy.over(n)(2.0f, x[i], y[i], n),
                        {.label = label, .after = last, .priority = -step})};
    }
    rt.submit(y[i].copy_to(results.subspan(i * n, n)),
              {.label = label, .after = last, .priority = -3})
        .then([&](std::exception_ptr error) { done += error == nullptr ? 1 : 0; });
  }
  // end
  rt.wait_idle();
  EXPECT_EQ(done, images);
  EXPECT_EQ(results.span()[39 * n + 5], 45.0f);
}

// recipe: a library with tasks
class solver {
 public:
  /// The runtime must outlive the solver.
  explicit solver(flotilla::runtime& rt)
      : rt_{rt}, axpy_{rt.load(test_manual_kernels).kernel(test_manual_kernels.axpy)} {}

  /// Adds 2 x to y. Returns at once. `after` are the tasks that make x and y.
  flotilla::ticket add_twice(flotilla::device_span<float const> x, flotilla::device_span<float> y,
                             flotilla::dependency_list const& after = {}) {
    auto const size = static_cast<int>(y.size());
    return rt_.submit(axpy_.over(size)(2.0f, x, y, size), {.label = "solver", .after = after});
  }

 private:
  flotilla::runtime& rt_;
  flotilla::kernel<float, float const*, float*, int> axpy_;
};
// end

// requirement: an application orders its own tasks with those of a library
TEST(ManualRecipes, InsideALibrary) {
  flotilla::runtime rt{two_devices()};
  flotilla::device const& device = rt.devices()[1];
  std::vector<float> result(n);
  flotilla::device_buffer<float> x{rt, device, n}, y{rt, device, n};
  // recipe: an application of the library
  solver library{rt};
  flotilla::ticket const filled_x = rt.submit(x.fill(1.0f));
  flotilla::ticket const filled_y = rt.submit(y.fill(1.0f));
  flotilla::ticket const solved = library.add_twice(x, y, {filled_x, filled_y});
  rt.submit(y.copy_to(result), {.after = {solved}}).wait();
  // end
  EXPECT_EQ(count(result, 3.0f), n);
}

// recipe: the options of a plug-in
flotilla::runtime_options plugin_options() {
  flotilla::runtime_options options;
  options.settings.all.context = flotilla::context_source::primary();  // that of the application
  options.workers = 1;
  return options;
}
// end

// requirement: a plug-in can use the primary context
TEST(ManualRecipes, OptionsOfAPlugIn) {
  flotilla::runtime_options options = plugin_options();
  options.devices = "cpu:1";
  flotilla::runtime rt{options};
  EXPECT_EQ(rt.effective_settings(rt.devices()[0]).context, flotilla::context_source::primary());
}

/// Stands for MPI_Sendrecv: the neighbour sends what it gets.
void exchange(float const* sent, float* got, int size) { std::copy_n(sent, size, got); }

// requirement: a host task sends what a kernel has computed, and a copy brings back what it gets
TEST(ManualRecipes, ExchangeWithANeighbour) {
  flotilla::runtime rt{two_devices()};
  constexpr int edge = 10;
  flotilla::device_buffer<float> field{rt, rt.devices()[0], n};
  auto const axpy = axpy_of(rt);
  flotilla::device_buffer<float> ones{rt, rt.devices()[0], std::vector<float>(n, 1.0f)};
  rt.submit(field.fill(1.0f)).wait();
  // recipe: exchange with a neighbour
  flotilla::host_buffer<float> sent{rt, edge}, got{rt, edge};
  flotilla::ticket const computed = rt.submit(axpy.over(n)(1.0f, ones, field, n));
  flotilla::ticket const down =
      rt.submit(field.subspan(n - edge, edge).copy_to(sent), {.after = {computed}});
  flotilla::ticket const exchanged = rt.submit(
      flotilla::host_task([&] { exchange(sent.data(), got.data(), edge); }), {.after = {down}});
  flotilla::ticket const up =
      rt.submit(field.subspan(0, edge).copy_from(got), {.after = {exchanged}});
  // end
  std::vector<float> result(n);
  rt.submit(field.copy_to(result), {.after = {up}}).wait();
  EXPECT_EQ(count(result, 2.0f), n);
}

}  // namespace
