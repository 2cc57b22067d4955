// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/host_compiler.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <flotilla/error/compile_error.hpp>

#include "compiler/kernel_headers.hpp"
#include "support/child.hpp"
#include "support/thrown.hpp"
#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

using test::HasSubstr;

class HostCompiler : public test::folder_fixture {
 protected:
  static std::string found() { return find_host_compiler({}).path; }
};

// requirement: the order of the search
TEST_F(HostCompiler, TheOptionComesFirstThenTheEnvironmentThenTheCompilerOfTheBuild) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::unsetenv("FLOTILLA_CXX");
    EXPECT_EQ(found(), compiler_of_flotilla());
    ::setenv("FLOTILLA_CXX", "/bin/true", 1);
    EXPECT_EQ(found(), "/bin/true");
    ::setenv("FLOTILLA_CXX", "true", 1);  // in the fixed folders
    EXPECT_EQ(found(), "/usr/bin/true");
    compile_options options;
    options.cpu_compiler = "/bin/false";
    EXPECT_EQ(find_host_compiler(options).path, "/bin/false");
  });
}

// requirement: a program in the working directory or on the search path is not taken
TEST_F(HostCompiler, NeitherTheWorkingDirectoryNorThePathIsSearched) {
  write("mine", "#!/bin/sh\n");
  std::filesystem::permissions(folder() / "mine", std::filesystem::perms{0700});
  FLOTILLA_EXPECT_IN_CHILD([&] {
    ASSERT_EQ(::chdir(folder().c_str()), 0);
    ::setenv("PATH", folder().c_str(), 1);
    for (char const* const name : {"mine", "./mine", "/no/such/compiler"}) {
      ::setenv("FLOTILLA_CXX", name, 1);
      EXPECT_THAT(test::thrown<no_compiler>([] { static_cast<void>(found()); }),
                  HasSubstr("environment variable FLOTILLA_CXX: '" + std::string{name} + "'"));
    }
  });
}

// requirement: another version of the compiler makes other entries of the cache
TEST_F(HostCompiler, TheIdentityChangesWithTheFile) {
  write("mine", "#!/bin/sh\n");
  std::filesystem::permissions(folder() / "mine", std::filesystem::perms{0700});
  std::string const before = file_identity(folder() / "mine", X_OK);
  EXPECT_NE(before, "");
  write("mine", "#!/bin/sh\n\n");
  EXPECT_NE(file_identity(folder() / "mine", X_OK), before);
  std::filesystem::permissions(folder() / "mine", std::filesystem::perms{0600});
  EXPECT_EQ(file_identity(folder() / "mine", X_OK), "");
  EXPECT_EQ(file_identity(folder(), X_OK), "");
}

}  // namespace
}  // namespace flotilla::compiler
