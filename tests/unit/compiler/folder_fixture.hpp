// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A temporary folder, and a log that a test can read.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <flotilla/error/log.hpp>

namespace flotilla::test {

class folder_fixture : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "flotilla-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    set_log_level(log_level::debug);
    set_log_handler([this](log_message const& each) {
      std::lock_guard const lock(mutex_);
      log_.emplace_back(std::string{to_string(each.level)} + ": " + std::string{each.text});
    });
  }
  void TearDown() override {
    set_log_handler({});
    set_log_level(log_level::warning);
    std::filesystem::remove_all(path_);
  }

  [[nodiscard]] std::filesystem::path folder() const { return path_; }
  void write(std::filesystem::path const& file, std::string const& text) const {
    std::filesystem::create_directories((folder() / file).parent_path());
    std::ofstream{folder() / file, std::ios::binary} << text;
  }
  /// Whether a message contains the text.
  [[nodiscard]] bool has_logged(std::string const& text) {
    std::lock_guard const lock(mutex_);
    for (std::string const& each : log_) {
      if (each.find(text) != std::string::npos) { return true; }
    }
    return false;
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace flotilla::test
