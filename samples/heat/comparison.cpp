// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bands.hpp"
#include "by_hand.hpp"
#include "heat_kernels.hpp"
#include "serial.hpp"
#include "simulation.hpp"

namespace heat {

namespace {

constexpr std::size_t runs = 5;

/// Returns the median time of five runs in seconds.
double median(std::function<void()> const& run) {
  std::array<double, runs> seconds{};
  for (double& each : seconds) {
    auto const begin = std::chrono::steady_clock::now();
    run();
    each = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  return seconds[runs / 2];
}

std::string plural(std::size_t count, char const* word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

/// Measures and prints the rows of the table.
class table {
 public:
  table(flotilla::runtime& rt, field const& start, comparison const& what)
      : rt_(rt), places_(samples::team{rt}.places()), start_(start), what_(what) {}

  void begin() {
    std::printf("%-40s %8s %8s\n", "", "GB/s", "of copy");
    copy_rate_ = gigabytes(start_, what_.steps) / time_of_copies();
    print("copy kernel, 1 device", copy_rate_, 1);
  }
  /// Adds the rows for the first `devices` devices: with flotilla, with the same bands by hand, and
  /// by hand with one band for each device, which has the fewest launches.
  /// @return false if the results differ.
  bool add(std::size_t devices, std::size_t bands) {
    field expected = start_, found = start_;
    add_flotilla(devices, bands, expected);
    std::vector<std::size_t> band_counts{bands};
    if (bands != devices) { band_counts.push_back(devices); }
    try {
      for (std::size_t const each : band_counts) {
        add_by_hand(devices, each, found);
        if (first_difference(expected, found)) {
          std::fprintf(stderr, "heat: by hand, %zu bands: the result is wrong\n", each);
          return false;
        }
      }
    } catch (std::exception const& why) {
      std::printf("%-40s not measured: %s\n", row_name("by hand", devices, bands).c_str(),
                  why.what());
    }
    return true;
  }

 private:
  static std::string row_name(char const* who, std::size_t devices, std::size_t bands) {
    return std::string{who} + ", " + plural(devices, "device") + ", " + plural(bands, "band");
  }
  void print(std::string const& name, double rate, std::size_t devices) const {
    std::printf("%-40s %8.1f %8.3f\n", name.c_str(), rate,
                rate / (copy_rate_ * static_cast<double>(devices)));
  }
  [[nodiscard]] std::vector<band> make(std::size_t devices, std::size_t bands) const {
    return make_bands(start_.rows, start_.columns, bands, std::span{places_}.first(devices));
  }

  double time_of_copies() {
    constexpr flotilla::device_ordinal first{0};
    std::size_t const cells = start_.values.size();
    flotilla::device_buffer<float> a{rt_, first, cells}, b{rt_, first, cells};
    rt_.submit(a.fill(1.0f)).wait();
    flotilla::flow flow{rt_};
    flotilla::data<float> from{flow, a, {cells}, "from"}, to{flow, b, {cells}, "to"};
    auto const copy = rt_.load(heat_kernels)
                          .kernel(heat_kernels.copy_field)
                          .over((cells + columns_per_thread - 1) / columns_per_thread);
    auto const run = [&] {
      for (std::size_t i = 0; i < what_.steps; ++i) {
        flow.post(copy(read(from), write(to), cells), {.device = first, .label = "copy"});
        std::swap(from, to);
      }
      rt_.wait_idle();
    };
    run();  // warm-up
    return median(run);
  }

  void add_flotilla(std::size_t devices, std::size_t bands, field& result) {
    flotilla::flow flow{rt_};
    {
      simulation steps{samples::team{rt_}, flow, make(devices, bands), what_.alpha, what_.repeated};
      steps.start(start_);
      steps.advance(2);  // warm-up
      steps.wait();
      double const seconds = median([&] {
        steps.advance(what_.steps);
        steps.wait();
      });
      steps.copy_to(result);
      print(row_name("flotilla", devices, bands), gigabytes(start_, what_.steps) / seconds,
            devices);
    }
    rt_.wait_idle();
  }

  void add_by_hand(std::size_t devices, std::size_t bands, field& result) const {
    auto const all = rt_.devices();
    by_hand steps{{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(devices)},
                  start_,
                  make(devices, bands),
                  what_.alpha};
    steps.run(2);  // warm-up
    double const seconds = median([&] { steps.run(what_.steps); });
    steps.copy_to(result);
    print(row_name("by hand", devices, bands), gigabytes(start_, what_.steps) / seconds, devices);
  }

  flotilla::runtime& rt_;
  std::vector<samples::place> const places_;
  field const& start_;
  comparison const what_;
  double copy_rate_ = 0;
};

}  // namespace

bool compare(flotilla::runtime& rt, field const& start, comparison const& what) {
  table rows{rt, start, what};
  rows.begin();
  std::size_t const devices = std::min(rt.devices().size(), what.bands);
  std::size_t const bands_each = std::max<std::size_t>(1, what.bands / devices);
  bool same = rows.add(1, bands_each);
  if (devices > 1) { same = rows.add(devices, what.bands) && same; }
  return same;
}

}  // namespace heat
