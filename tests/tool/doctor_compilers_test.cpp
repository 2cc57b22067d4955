// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What `flotilla doctor` says of compilers and caches that do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "finding.hpp"

namespace tool {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using grades = finding::grades;

flotilla::compiler_report everything() {
  flotilla::compiler_report made;
  made.has_cpu_compiler = made.has_nvrtc = made.has_cache = true;
  made.cpu_text = "/usr/bin/c++, version 12";
  made.nvrtc_text = "libnvrtc.so.13, version 13.0";
  made.cache_directory = "/home/me/.cache/flotilla";
  made.cache_entries = 3;
  made.cache_bytes = 4096;
  return made;
}

finding find(flotilla::compiler_report const& report, bool gpus, std::string const& about) {
  findings all;
  examine_compilers(all, report, gpus);
  finding found{grades::broken, "", "none", ""};
  for (finding const& each : all) {
    if (each.grade != grades::ok) { EXPECT_THAT(each.advice, Not(IsEmpty())) << each.about; }
    if (each.about == about) { found = each; }
  }
  return found;
}

// requirement
TEST(DoctorCompilers, WhatThereIsIsNamed) {
  for (bool const gpus : {false, true}) {
    finding const cpu = find(everything(), gpus, "C++ compiler");
    EXPECT_EQ(cpu.grade, grades::ok);
    EXPECT_EQ(cpu.text, "/usr/bin/c++, version 12");
    EXPECT_EQ(find(everything(), gpus, "NVRTC").text, "libnvrtc.so.13, version 13.0");
    finding const cache = find(everything(), gpus, "cache of kernels");
    EXPECT_EQ(cache.grade, grades::ok);
    EXPECT_EQ(cache.text, "/home/me/.cache/flotilla, 3 entries, 4 KiB");
  }
}

// requirement: what is missing is worse if there are devices that need it
TEST(DoctorCompilers, WhatIsMissingHasARemedy) {
  flotilla::compiler_report none;
  none.cpu_text = "there is none: install g++";
  none.nvrtc_text = "there is none: install it";
  none.cache_text = "cannot make the folder /home/me/.cache: Read-only file system";
  EXPECT_EQ(find(none, false, "C++ compiler").grade, grades::warning);
  EXPECT_EQ(find(none, true, "C++ compiler").grade, grades::note);
  EXPECT_THAT(find(none, true, "C++ compiler").text, HasSubstr("install g++"));
  EXPECT_EQ(find(none, false, "NVRTC").grade, grades::note);
  EXPECT_EQ(find(none, true, "NVRTC").grade, grades::warning);
  finding const cache = find(none, true, "cache of kernels");
  EXPECT_EQ(cache.grade, grades::warning);
  EXPECT_THAT(cache.text, HasSubstr("Read-only file system"));
  EXPECT_THAT(cache.advice, HasSubstr("XDG_CACHE_HOME"));
}

}  // namespace
}  // namespace tool
