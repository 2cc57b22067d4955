// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "doctor_surroundings.hpp"
#include "finding.hpp"

namespace tool {
namespace {

namespace fs = std::filesystem;
using grades = finding::grades;

bool is_number(std::string const& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char each) { return each >= '0' && each <= '9'; });
}

/// What a process has open.
struct open_files {
  bool is_known = false;  // false: the process belongs to another user, or has ended
  bool has_cuda = false;  // /dev/nvidia-uvm: graphics without CUDA does not open it
  std::set<std::string> gpus;
};

open_files files_of(fs::path const& process) {
  open_files made;
  std::error_code failed;
  fs::directory_iterator const files{process / "fd", failed};
  if (failed) { return made; }
  made.is_known = true;
  std::string const gpu = "/dev/nvidia";
  for (auto const& each : files) {
    std::string const target = fs::read_symlink(each.path(), failed).string();
    if (failed || !target.starts_with(gpu)) { continue; }
    made.has_cuda = made.has_cuda || target == gpu + "-uvm";
    if (is_number(target.substr(gpu.size()))) { made.gpus.insert(target.substr(gpu.size())); }
  }
  return made;
}

}  // namespace

void examine_other_processes(findings& into, surroundings const& around) {
  constexpr std::size_t max_named = 5;
  std::size_t count = 0;
  std::string names;
  bool are_all_known = true;
  std::error_code failed;
  for (auto const& each : fs::directory_iterator{around.root / "proc", failed}) {
    std::string const id = each.path().filename().string();
    if (!is_number(id) || std::atol(id.c_str()) == around.process) { continue; }
    open_files const files = files_of(each.path());
    are_all_known = are_all_known && files.is_known;
    if (!files.has_cuda || files.gpus.empty()) { continue; }
    if (++count > max_named) { continue; }
    std::string command;
    std::getline(std::ifstream{each.path() / "comm"} >> std::ws, command);
    names += (names.empty() ? "" : ", ") + command + " (" + id + ") on GPU";
    for (std::string const& gpu : files.gpus) { names += " " + gpu; }
  }
  if (count > max_named) { names += ", and " + std::to_string(count - max_named) + " more"; }
  std::string const seen = are_all_known ? "" : "; processes of other users cannot be seen";
  into.push_back(
      {count == 0 ? grades::ok : grades::note, "other processes",
       (count == 0 ? "none has opened a GPU" : names) + seen,
       count == 0 ? ""
                  : "processes on one GPU take turns and share its memory (the numbers are those "
                    "of nvidia-smi -q, 'Minor Number'): give each process its own GPUs with "
                    "FLOTILLA_DEVICES, or start nvidia-cuda-mps-control -d before all of them"});
}

}  // namespace tool
