// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes the SHA-256 digest of every block of files on all devices, and verifies the digests on
// the host.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <flotilla/flotilla.hpp>

#include "console.hpp"
#include "digest_flow.hpp"
#include "host_step.hpp"
#include "job.hpp"
#include "manifest.hpp"
#include "report.hpp"
#include "result_collector.hpp"
#include "sizing.hpp"
#include "thread_team.hpp"
#include "verification.hpp"
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
  unsigned readers = default_readers();
  std::string verify = "all";
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
  auto const host = std::make_shared<thread_team>(host_threads());  // ends after the runtime
  flotilla::runtime rt{{.devices = chosen.devices, .continuation_executor = host}};
  std::optional<manifest> list;
  if (!chosen.manifest_path.empty()) { list.emplace(chosen.manifest_path); }
  verification const verifies{chosen.verify};
  batch_capacity const capacity{chosen.block_bytes, rt.devices()[0].kind};
  console output;
  std::uint64_t const total = output.is_terminal() ? bytes_below(chosen.paths) : 0;
  result_collector results{rt.devices().size(), verifies, output, total, list ? &*list : nullptr};
  digest_flow devices{rt, host_step{verifies, list.has_value()}, chosen.corrupt};
  job digests{rt, capacity, batch_count(rt, capacity, chosen.readers, verifies), devices, results};

  auto const start = std::chrono::steady_clock::now();
  digests.start(chosen.readers);
  walk files{[&](std::string const& path) { digests.add_file(path); },
             [&](std::string_view path, std::string_view why) { output.failure(path, why); }};
  for (std::string const& path : chosen.paths) { files.visit(path); }
  digests.finish();
  auto const took = std::chrono::steady_clock::now() - start;

  rt.wait_idle();  // the counters are exact only if the runtime is idle
  output.clear();
  if (list) { list->close(); }
  print_report(rt, results, verifies, output.failures(), files.skipped(), took);
  return output.failures() == 0 ? 0 : some_failed;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app{
      "Computes the SHA-256 digest of every block of files on all devices, and verifies the "
      "digests on the host."};
  app.add_option("--block", chosen.block_bytes,
                 "Bytes per block, up to 64MiB, such as 4096, 64KiB or 1MiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{64} << 20))
      ->capture_default_str();
  app.add_option("--devices", chosen.devices,
                 "Devices to use: auto, cuda, cuda:0,2, cpu:4, a UUID, a PCI id");
  app.add_option("--manifest", chosen.manifest_path,
                 "Write a file with one line per block: digest, offset, length, path");
  app.add_option("--readers", chosen.readers, "Threads that read files")
      ->check(CLI::Range(1U, 256U))
      ->capture_default_str();
  app.add_option("--verify", chosen.verify,
                 "Digests that the host computes again: all, sample (1 of 64 blocks), none")
      ->check(CLI::IsMember({"all", "sample", "none"}))
      ->capture_default_str();
  app.add_flag("--corrupt", chosen.corrupt,
               "Invert a byte on a device, to test that the verification finds the wrong digest")
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
