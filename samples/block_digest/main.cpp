// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes the SHA-256 digest of every block of files on all devices, and verifies each digest on
// the host.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <flotilla/flotilla.hpp>

#include "console.hpp"
#include "device_scheduler.hpp"
#include "job.hpp"
#include "manifest.hpp"
#include "report.hpp"
#include "result_collector.hpp"
#include "walk.hpp"

namespace {

using namespace block_digest;

// Exit codes other than 0 (README.md describes them).
constexpr int some_failed = 1;
constexpr int not_done = 2;

struct options {
  std::uint64_t block_bytes = 4096;
  std::string devices;
  std::string manifest_path;
  bool corrupt = false;
  std::vector<std::string> paths;
};

// Returns the size of all files together, for the progress bar.
std::uint64_t bytes_below(std::vector<std::string> const& paths) {
  std::uint64_t total = 0;
  walk sizes{[&](std::string const& path) {
               std::error_code error;  // ignored, because the job itself reports unreadable files
               std::uintmax_t const size = std::filesystem::file_size(path, error);
               if (!error) { total += size; }
             },
             [](std::string_view, std::string_view) {}};
  for (std::string const& path : paths) { sizes.visit(path); }
  return total;
}

int digest_all(options const& chosen) {
  flotilla::runtime rt{{.devices = chosen.devices}};
  std::optional<manifest> list;
  if (!chosen.manifest_path.empty()) { list.emplace(chosen.manifest_path); }
  console output;
  result_collector results{rt.devices().size(), output, list ? &*list : nullptr};
  device_scheduler scheduler{rt, chosen.block_bytes, chosen.corrupt};

  std::uint64_t const total = output.is_terminal() ? bytes_below(chosen.paths) : 0;
  auto const start = std::chrono::steady_clock::now();
  job digests{scheduler, results, output, total};
  walk files{[&](std::string const& path) { digests.add_file(path); },
             [&](std::string_view path, std::string_view why) { output.failure(path, why); }};
  for (std::string const& path : chosen.paths) { files.visit(path); }
  digests.finish();
  auto const took = std::chrono::steady_clock::now() - start;

  rt.wait_idle();  // the counters are exact only if the runtime is idle
  output.clear();
  if (list) { list->close(); }
  print_report(rt, results, output.failures(), files.skipped(), took);
  return output.failures() == 0 ? 0 : some_failed;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app{
      "Computes the SHA-256 digest of every block of files on all devices, and verifies each "
      "digest "
      "on the host."};
  app.add_option("--block", chosen.block_bytes,
                 "Bytes per block, up to 64MiB, such as 4096, 64KiB or 1MiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{64} << 20))
      ->capture_default_str();
  app.add_option("--devices", chosen.devices,
                 "Devices to use: auto, cuda, cuda:0,2, cpu:4, a UUID, a PCI id");
  app.add_option("--manifest", chosen.manifest_path,
                 "Write a file with one line per block: digest, offset, length, path");
  app.add_flag("--corrupt", chosen.corrupt,
               "Invert a byte on a device, to test that the verifier finds the wrong digest")
      ->group("");
  app.add_option("PATH", chosen.paths, "Files and folders; a folder means all files below it")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) { return app.exit(error) == 0 ? 0 : not_done; }
  try {
    return digest_all(chosen);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "block_digest: %s\n", error.what());
    return not_done;
  }
}
