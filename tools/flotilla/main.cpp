// The command-line tool. Each command is a function in its own file. This file parses the
// arguments.

#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include <flotilla/version.hpp>

#include "bench_command.hpp"
#include "devices_command.hpp"
#include "doctor_command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"flotilla: dispatches work to every GPU of a machine", "flotilla"};
  app.set_version_flag("--version", "flotilla " + std::string{flotilla::version().text});
  app.require_subcommand(1);

  std::string specification;
  bool json = false;
  bool best_effort = false;
  bool well = true;
  char const* const takes =
      "devices as in FLOTILLA_DEVICES: auto, cuda, cuda:0,2, cuda:0/green:16*4, cpu:4, UUID, PCI "
      "id";
  CLI::App* const devices = app.add_subcommand(
      "devices", "shows the devices that a runtime would use, and their driver and settings");
  devices->add_option("specification", specification, takes);
  devices->add_flag("--json", json, "print JSON instead of tables");
  devices->add_flag("--best-effort", best_effort,
                    "if the driver refuses a setting, report that and continue");
  CLI::App* const doctor = app.add_subcommand("doctor",
                                              "examines this machine, and says what to do about "
                                              "each problem; exits with 1 if something is broken");
  doctor->add_option("specification", specification, takes);
  doctor->add_flag("--json", json, "print JSON instead of text");
  CLI::App* const bench =
      app.add_subcommand("bench",
                         "measures the cost of dispatching on this machine, and "
                         "compares it with controls; see bench --help");
  bench->prefix_command();  // passes all arguments to flotilla_bench, including --help
  bench->set_help_flag();

  CLI11_PARSE(app, argc, argv);
  try {
    if (bench->parsed()) { tool::run_bench(bench->remaining()); }
    if (devices->parsed()) { tool::print_devices(std::cout, specification, json, best_effort); }
    if (doctor->parsed()) { well = tool::print_doctor(std::cout, specification, json); }
  } catch (std::exception const& failure) {
    std::cerr << "flotilla: " << failure.what() << '\n';
    return 1;
  }
  // If the output cannot be written, for example because the disk is full, the command fails.
  return std::cout.flush() && well ? 0 : 1;
}
