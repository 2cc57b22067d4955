// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What `flotilla doctor` says of machines that do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <map>

#include "doctor_surroundings.hpp"

namespace tool {
namespace {

using ::testing::HasSubstr;
using grades = finding::grades;

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "flotilla-doctor-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void write(std::string const& file, std::string const& text) const {
    std::filesystem::path const path = std::filesystem::path{path_} / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  /// A machine with a driver and this number of GPUs.
  void install(int gpus, std::string const& version = "580.65.06") const {
    write(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version + "  Release Build");
    for (int i = 0; i < gpus; ++i) {
      write("proc/driver/nvidia/gpus/0000:0" + std::to_string(i) + ":00.0/information", "");
    }
  }
  /// Returns the finding; one with the text "none" if there is none.
  [[nodiscard]] finding find(std::string const& about) const {
    findings all;
    examine_surroundings(all, {path_,
                               [this](char const* name) {
                                 auto const found = variables_.find(name);
                                 return found == variables_.end() ? "" : found->second;
                               },
                               visible_});
    finding found{grades::ok, "", "none", ""};
    for (finding const& each : all) {
      if (each.grade != grades::ok) {
        EXPECT_NE(each.advice, "") << each.about << ": a finding has a remedy";
      }
      if (each.about == about) { found = each; }
    }
    return found;
  }

  std::map<std::string, std::string> variables_;
  std::size_t visible_ = 0;

 private:
  std::string path_;
};

void expect(finding const& found, grades grade, std::string const& text,
            std::string const& advice) {
  EXPECT_EQ(found.grade, grade) << found.about;
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_THAT(found.advice, HasSubstr(advice));
}

// requirement: without a driver there is nothing to say about it
TEST_F(Doctor, AMachineWithoutADriver) {
  for (char const* const about : {"kernel module", "persistence", "MPS", "hidden GPUs"}) {
    EXPECT_EQ(find(about).text, "none") << about;
  }
}

// requirement
TEST_F(Doctor, AnOldDriver) {
  install(1, "535.104.05");
  expect(find("kernel module"), grades::broken, "535.104.05", "install branch 550 or later");
  install(1, "550.54.14");
  expect(find("kernel module"), grades::ok, "550.54.14", "");
  write("proc/driver/nvidia/version", "something else");
  expect(find("kernel module"), grades::ok, "something else", "");
}

// requirement
TEST_F(Doctor, Persistence) {
  install(1);
  expect(find("persistence"), grades::note, "does not run", "nvidia-smi -pm 1");
  write("run/nvidia-persistenced/socket", "");
  expect(find("persistence"), grades::ok, "runs", "");
}

// requirement
TEST_F(Doctor, MpsThatRuns) {
  install(1);
  visible_ = 1;
  expect(find("MPS"), grades::ok, "does not run", "");
  write("tmp/nvidia-mps/control", "");
  expect(find("MPS"), grades::note, "/tmp/nvidia-mps", "a fault in a kernel of one process");
  variables_["CUDA_MPS_PIPE_DIRECTORY"] = "/other";
  expect(find("MPS"), grades::ok, "does not run", "");
  write("other/control", "");
  variables_["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = "25";
  expect(find("MPS"), grades::note, "gets 25 % of the multiprocessors", "nvidia-cuda-mps-control");
}

// requirement: several ranks on a GPU need MPS
TEST_F(Doctor, RanksThatShareGpus) {
  install(2);
  visible_ = 2;
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  expect(find("MPS"), grades::ok, "does not run", "");
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "8";
  expect(find("MPS"), grades::warning, "8 ranks share 2 GPUs", "nvidia-cuda-mps-control -d");
  variables_.clear();
  variables_["SLURM_TASKS_PER_NODE"] = "4(x3)";
  expect(find("MPS"), grades::warning, "4 ranks share 2 GPUs", "nvidia-cuda-mps-control -d");
}

// requirement: a cgroup with one GPU for each rank
TEST_F(Doctor, GpusThatACgroupHides) {
  install(4);
  visible_ = 4;
  EXPECT_EQ(find("hidden GPUs").text, "none");
  visible_ = 1;
  expect(find("hidden GPUs"), grades::note, "1 of the machine's 4 GPUs", "--gpus all");
  variables_["SLURM_TASKS_PER_NODE"] = "4";
  expect(find("hidden GPUs"), grades::warning, "one for each of 4 ranks", "--gpus-per-node=4");
  variables_["CUDA_VISIBLE_DEVICES"] = "2";
  expect(find("hidden GPUs"), grades::note, "CUDA_VISIBLE_DEVICES is 2", "remove the variable");
}

// requirement
TEST_F(Doctor, NumaBalancing) {
  write("proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(find("NUMA balancing").text, "none");  // there is only one node
  write("sys/devices/system/node/node1/cpulist", "8-15");
  expect(find("NUMA balancing"), grades::note, "on", "kernel.numa_balancing=0");
  write("proc/sys/kernel/numa_balancing", "0\n");
  expect(find("NUMA balancing"), grades::ok, "off", "");
}

// error guess: values that are no numbers
TEST_F(Doctor, WrongVariables) {
  install(1);
  visible_ = 1;
  variables_["SLURM_TASKS_PER_NODE"] = "many";
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "-3";
  expect(find("MPS"), grades::ok, "does not run", "");
}

}  // namespace
}  // namespace tool
