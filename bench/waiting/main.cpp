// Question: what does a thread that waits cost, and how late does it know, by the device's
//           schedule?
// Control:  launches and cuStreamSynchronize in a context with the same flag.

#include <exception>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>

#include "build_kind.hpp"
#include "machine.hpp"
#include "report.hpp"
#include "rig.hpp"

int main(int argc, char** argv) {
  using namespace flotilla;
  CLI::App app{
      "Measures what waiting costs, by the schedule of the device: the first of FLOTILLA_DEVICES",
      "bench_waiting"};
  std::string json;
  bool quick = false;
  app.add_option("--json", json, "write the report to this file, too");
  app.add_flag("--quick", quick, "as little as there is: shows that it works, measures nothing");
  CLI11_PARSE(app, argc, argv);

  if (auto const why = bench::why_not_measured()) {
    std::cerr << "bench_waiting refuses to report: this flotilla was " << *why << ", build type '"
              << bench::build_type() << "'. Use the preset `release`.\n";
    return 2;
  }
  try {
    if (!json.empty() && !std::ofstream{json, std::ios::app}) {  // found out now, not at the end
      throw std::runtime_error{"cannot write the report to " + json};
    }
    bench::lengths const of = quick ? bench::lengths::quick() : bench::lengths{};
    bench::report made{.rows = {},
                       .on_gpus = bench::machine().api->kind == device_kind::gpu,
                       .device = bench::machine().devices.front().name,
                       .driver = bench::machine().text,
                       .command = "bench_waiting"};
    for (int i = 1; i < argc; ++i) { made.command += std::string{" "} + argv[i]; }
    for (schedule const how :
         {schedule::spin, schedule::yield, schedule::blocking, schedule::automatic}) {
      made.rows.push_back(bench::measure_flotilla(how, of));
      made.rows.push_back(bench::measure_driver(how, of));
    }
    bench::drop_rig();
    bench::print_rows(std::cout, made);
    if (!json.empty()) { bench::write_rows(json, made); }
    return std::cout.flush() ? 0 : 1;
  } catch (std::exception const& failure) {
    std::cerr << "bench_waiting: " << failure.what() << '\n';
    return 1;
  }
}
