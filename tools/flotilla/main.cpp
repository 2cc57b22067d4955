// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

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
#include "trace_command.hpp"

namespace {

constexpr int usage_error = 2;  // exit status

/// Prints what is wrong with the arguments, and returns the exit status.
int refuse(CLI::App const& app, CLI::ParseError const& why, char const* first) {
  if (why.get_exit_code() == 0) { return app.exit(why); }  // --help or --version
  // CLI11 neither names an unknown subcommand nor lists the known ones.
  std::string names;
  bool is_known = false;
  for (CLI::App const* const each : app.get_subcommands([](CLI::App const*) { return true; })) {
    names += (names.empty() ? "" : ", ") + each->get_name();
    is_known = is_known || (first != nullptr && each->get_name() == first);
  }
  if (is_known) {
    app.exit(why);
    return usage_error;
  }
  bool const is_option = first != nullptr && *first == '-';
  std::cerr << "flotilla: "
            << (first == nullptr ? "the subcommand is missing"
                : is_option      ? "there is no option '" + std::string{first} + "'"
                                 : "there is no subcommand '" + std::string{first} + "'")
            << "; the subcommands are: " << names << ". flotilla --help describes them.\n";
  return usage_error;
}

}  // namespace

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
  CLI::App* const trace = app.add_subcommand(
      "trace",
      "shows the longest waits, the critical path and idle devices of a trace that "
      "FLOTILLA_TRACE or flotilla::trace has written");
  tool::trace_request traces;
  trace
      ->add_option("file", traces.files,
                   "the file of the trace; several files, of the ranks of a program, are shown on "
                   "one time axis")
      ->required();
  trace->add_option("--svg", traces.svg, "also draw the trace as a picture, into this file");
  trace->add_option("--merged", traces.merged,
                    "also write the traces of several files as one trace, into this file");
  trace->add_option("--top", traces.count, "the maximum number of lines of each list")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench->prefix_command();  // passes all arguments to flotilla_bench, including --help
  bench->set_help_flag();

  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& why) { return refuse(app, why, argv[argc > 1 ? 1 : argc]); }
  try {
    if (bench->parsed()) { tool::run_bench(bench->remaining()); }
    if (devices->parsed()) { tool::print_devices(std::cout, specification, json, best_effort); }
    if (trace->parsed()) { tool::print_traces(std::cout, traces); }
    if (doctor->parsed()) { well = tool::print_doctor(std::cout, specification, json); }
  } catch (std::exception const& failure) {
    std::cerr << "flotilla: " << failure.what() << '\n';
    return 1;
  }
  // If the output cannot be written, for example because the disk is full, the command fails.
  return std::cout.flush() && well ? 0 : 1;
}
