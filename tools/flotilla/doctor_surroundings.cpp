// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_surroundings.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tool {
namespace {

namespace fs = std::filesystem;
using grades = finding::grades;

// The first branch of the driver with CUDA 12.4, which flotilla needs.
constexpr int oldest_driver = 550;

std::string first_line(fs::path const& file) {
  std::string line;
  std::ifstream in{file};
  std::getline(in, line);
  return line;
}

bool is_there(fs::path const& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

/// Returns the major version in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu …";
/// 0 if there is none. Open kernel modules write "Kernel Module for x86_64  550.54.14".
int driver_branch(std::string const& line) {
  for (std::size_t dot = line.find('.'); dot != std::string::npos; dot = line.find('.', dot + 1)) {
    std::size_t begin = dot;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') { --begin; }
    bool const is_version = dot - begin == 3 && (begin == 0 || line[begin - 1] == ' ');
    if (is_version) { return std::atoi(line.c_str() + begin); }
  }
  return 0;
}

void examine_module(findings& into, surroundings const& around, std::string const& version) {
  int const branch = driver_branch(version);
  bool const old = branch != 0 && branch < oldest_driver;
  into.push_back({old ? grades::broken : grades::ok, "kernel module", version,
                  old ? "this driver is too old: install branch " + std::to_string(oldest_driver) +
                            " or later (CUDA 12.4), or run on CPU devices with FLOTILLA_DEVICES=cpu"
                      : ""});
  bool const persistent = is_there(around.root / "run/nvidia-persistenced/socket") ||
                          is_there(around.root / "var/run/nvidia-persistenced/socket");
  into.push_back({persistent ? grades::ok : grades::note, "persistence",
                  persistent ? "nvidia-persistenced runs" : "nvidia-persistenced does not run",
                  persistent ? ""
                             : "unless another process holds the GPUs, each start of a program may "
                               "wait some seconds for them: run systemctl enable --now "
                               "nvidia-persistenced, or nvidia-smi -pm 1, as administrator"});
}

std::size_t installed_gpus(surroundings const& around) {
  std::error_code failed;
  fs::directory_iterator const folders{around.root / "proc/driver/nvidia/gpus", failed};
  if (failed) { return 0; }
  return static_cast<std::size_t>(std::distance(begin(folders), end(folders)));
}

void examine_mps(findings& into, surroundings const& around, int ranks) {
  std::string pipe = around.variable("CUDA_MPS_PIPE_DIRECTORY");
  if (pipe.empty()) { pipe = "/tmp/nvidia-mps"; }
  bool const runs = is_there(around.root / fs::path{pipe}.relative_path() / "control");
  std::string const share = around.variable("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (runs) {
    into.push_back(
        {grades::note, "MPS",
         "the control daemon runs in " + pipe +
             (share.empty() ? "" : "; this process gets " + share + " % of the multiprocessors"),
         "a fault in a kernel of one process ends the work of all processes on the GPU: to "
         "separate a program, stop the daemon (echo quit | nvidia-cuda-mps-control), or set "
         "CUDA_MPS_PIPE_DIRECTORY to an empty folder for it"});
    return;
  }
  bool const shared =
      ranks > 1 && !around.gpus.empty() && static_cast<std::size_t>(ranks) > around.gpus.size();
  into.push_back({shared ? grades::warning : grades::ok, "MPS",
                  shared ? "does not run, but " + std::to_string(ranks) + " ranks share " +
                               std::to_string(around.gpus.size()) + " GPUs"
                         : "does not run",
                  shared ? "kernels of different processes take turns on a GPU: start "
                           "nvidia-cuda-mps-control -d before the job, or start one rank for each "
                           "machine or GPU, because one flotilla runtime drives all GPUs"
                         : ""});
}

void examine_hidden_gpus(findings& into, surroundings const& around, int ranks) {
  std::size_t const installed = installed_gpus(around);
  if (installed <= around.gpus.size()) { return; }
  std::string const list = around.variable("CUDA_VISIBLE_DEVICES");
  bool const by_slurm = !around.variable("SLURM_GPUS_PER_TASK").empty();
  bool const is_variable = !list.empty() && !by_slurm;
  bool const one_each = !is_variable && around.gpus.size() == 1 && ranks > 1;
  std::string const reason = by_slurm      ? "--gpus-per-task hides the others"
                             : is_variable ? "CUDA_VISIBLE_DEVICES is " + list
                                           : "a cgroup or a container hides the others";
  into.push_back(
      {one_each ? grades::warning : grades::note, "hidden GPUs",
       std::to_string(around.gpus.size()) + " of the machine's " + std::to_string(installed) +
           " GPUs are visible" +
           (one_each ? ", one for each of " + std::to_string(ranks) + " ranks" : "") + ": " +
           reason,
       is_variable ? "remove the variable if one runtime should drive all GPUs"
                   : "flotilla copies between GPUs only inside one process: start one rank for "
                     "each machine with all its GPUs (Slurm: --ntasks-per-node=1 "
                     "--gpus-per-node=" +
                         std::to_string(installed) + ", or --gpu-bind=none; Docker: --gpus all)"});
}

void examine_numa_balancing(findings& into, surroundings const& around) {
  if (!is_there(around.root / "sys/devices/system/node/node1")) { return; }
  std::string const value = first_line(around.root / "proc/sys/kernel/numa_balancing");
  bool const on = !value.empty() && value != "0";
  into.push_back({on ? grades::note : grades::ok, "NUMA balancing", on ? "on" : "off",
                  on ? "the kernel may move the pages of a program, which delays its threads: run "
                       "sysctl kernel.numa_balancing=0 as administrator, and bind the program "
                       "(numactl, or the setting numa_placement)"
                     : ""});
}

}  // namespace

void examine_surroundings(findings& into, surroundings const& around, int ranks) {
  std::string const version = first_line(around.root / "proc/driver/nvidia/version");
  if (!version.empty()) {
    examine_module(into, around, version);
    examine_mps(into, around, ranks);
    examine_hidden_gpus(into, around, ranks);
    examine_other_processes(into, around);
  }
  examine_numa_balancing(into, around);
}

}  // namespace tool
