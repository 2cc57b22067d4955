// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The program flotilla_make_twins: its files, its output and its exit status.
#include <filesystem>
#include <fstream>
#include <string>

#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

class MakeTwinsProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string const& name) const { return folder_ + "/" + name; }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  ended make_twins(std::string const& files) const {
    return run("cd '" + folder_ + "' && '" FLOTILLA_TEST_MAKE_TWINS "' " + files);
  }

  std::string folder_ = temporary("folder");
};

TEST_F(MakeTwinsProgram, WritesModulesWithTwins) {
  write("80", kernel_with(""));
  write("90", kernel_with("mov.u64 %rd1, %gridid;\n"));
  ended const done = make_twins("80 80.out 90 90.out");
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output, "flotilla: no twin of kernel k for sm_80: it reads %gridid\n");
  EXPECT_EQ(read_file(path("80.out")), add_twins(kernel_with("")).ptx);
  EXPECT_EQ(read_file(path("90.out")), read_file(path("90")));
}

TEST_F(MakeTwinsProgram, NamesFileAndLineOfAnErrorAndLeavesNoOutput) {
  write("good", kernel_with(""));
  write("bad", std::string(header) + "}\n");
  write("good.out", "old");
  write("bad.out", "old");
  ended const done = make_twins("good good.out bad bad.out");
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.output, "bad:4: error: '}' closes nothing\n");
  EXPECT_FALSE(std::filesystem::exists(path("good.out")));
  EXPECT_FALSE(std::filesystem::exists(path("bad.out")));
}

TEST_F(MakeTwinsProgram, NamesTheFileThatItCannotReadOrWrite) {
  write("good", kernel_with(""));
  ended const unread = make_twins("missing out");
  EXPECT_EQ(unread.status, 1);
  EXPECT_EQ(unread.output, "missing: error: cannot read the file: No such file or directory\n");
  ended const unwritten = make_twins("good no/folder");
  EXPECT_EQ(unwritten.status, 1);
  EXPECT_EQ(unwritten.output,
            "no/folder: error: cannot write the file: No such file or directory\n");
}

TEST_F(MakeTwinsProgram, PrintsItsUsageForWrongArguments) {
  for (char const* arguments : {"", "good", "good out other"}) {
    ended const done = make_twins(arguments);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.output.substr(0, 32), "usage: flotilla_make_twins IN.pt");
  }
}

}  // namespace
}  // namespace flotilla::make_twins
