// The command-line tool. Each command is a function in a file of its own; here is what they share.

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
  app.set_version_flag("--version", "flotilla " FLOTILLA_VERSION);
  app.require_subcommand(1);

  std::string specification;
  bool json = false;
  bool best_effort = false;
  bool well = true;
  char const* const takes = "as in FLOTILLA_DEVICES: auto, cuda, cuda:0,2, cuda:0/green:16*4, cpu:4, a UUID, a PCI id";
  CLI::App* const devices = app.add_subcommand(
      "devices", "which devices a runtime would use, by which driver, with which settings");
  devices->add_option("specification", specification, takes);
  devices->add_flag("--json", json, "for programs to read");
  devices->add_flag("--best-effort", best_effort, "go on where a driver refuses a setting, and say so");
  CLI::App* const doctor = app.add_subcommand(
      "doctor", "what is wrong with this machine, and what to do about it; fails where something is broken");
  doctor->add_option("specification", specification, takes);
  doctor->add_flag("--json", json, "for programs to read");
  CLI::App* const bench = app.add_subcommand(
      "bench", "what dispatching costs on this machine, each figure beside its control; its options: bench --help");
  bench->prefix_command();  // they are another program's, --help too
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
  // A full disk or a closed pipe is a failure too.
  return std::cout.flush() && well ? 0 : 1;
}
