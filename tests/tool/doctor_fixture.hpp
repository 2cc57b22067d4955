// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machines that do not exist, for the tests of `flotilla doctor`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor_ranks.hpp"
#include "doctor_surroundings.hpp"

namespace tool {

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
    std::vector<std::string> gpus;
    for (std::size_t i = 0; i < visible_; ++i) { gpus.push_back("GPU-" + std::to_string(i)); }
    surroundings const around{path_,
                              [this](char const* name) {
                                auto const found = variables_.find(name);
                                return found == variables_.end() ? "" : found->second;
                              },
                              gpus,
                              processors_,
                              8,
                              [this](int resource) {
                                auto const found = limits_.find(resource);
                                return found == limits_.end() ? RLIM_INFINITY : found->second;
                              },
                              [this](std::filesystem::path const& folder) {
                                auto const found = rooms_.find(folder);
                                return found == rooms_.end() ? std::nullopt
                                                             : std::optional{found->second};
                              },
                              4000};
    launch const how = flotilla::base::find_launch(around.variable);
    examine_rank(all, around, how);
    examine_surroundings(all, around, how.local_ranks);
    examine_limits(all, around);
    finding found{grades::ok, "", "none", ""};
    for (finding const& each : all) {
      if (each.grade != grades::ok) {
        EXPECT_NE(each.advice, "") << each.about << ": a finding has a remedy";
      }
      if (each.about == about) { found = each; }
    }
    return found;
  }

  /// A process that has opened these files.
  void start(int id, std::string const& command, std::vector<std::string> const& files) const {
    std::string const folder = "proc/" + std::to_string(id);
    write(folder + "/comm", command + "\n");
    std::filesystem::path const open = std::filesystem::path{path_} / folder / "fd";
    std::filesystem::create_directories(open);
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::filesystem::create_symlink(files[i], open / std::to_string(i));
    }
  }
  void set_room(std::uint64_t free_mib, std::uint64_t all_mib) {
    rooms_[std::filesystem::path{path_} / "dev/shm"] = {free_mib << 20, all_mib << 20};
  }

  std::map<std::string, std::string> variables_;
  std::size_t visible_ = 0;
  int processors_ = 8;  // of 8
  std::map<int, std::uint64_t> limits_;

 private:
  std::string path_;
  std::map<std::filesystem::path, surroundings::room> rooms_;
};

inline void expect(finding const& found, grades grade, std::string const& text,
                   std::string const& advice) {
  EXPECT_EQ(found.grade, grade) << found.about;
  EXPECT_THAT(found.text, ::testing::HasSubstr(text));
  EXPECT_THAT(found.advice, ::testing::HasSubstr(advice));
}

}  // namespace tool
