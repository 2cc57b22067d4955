// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Where NVRTC finds headers. Built only if there is an NVRTC.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <flotilla/error/compile_error.hpp>

#include "compiler/cached_compilation.hpp"
#include "compiler/checked_options.hpp"
#include "compiler/gpu_compiler.hpp"
#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

class GpuIncludes : public test::folder_fixture {
 protected:
  GpuIncludes() {
    options_.nvrtc = FLOTILLA_TEST_NVRTC;
    options_.cache = false;
  }
  [[nodiscard]] std::string ptx(std::string_view source) const {
    return compile_for_gpus(source, checked_options(options_), {90, false}).bytes;
  }

  compile_options options_;
};

// regression: NVRTC searches the working directory, which nobody named. The cache knows nothing of
// such a header. Headers beside other headers are found
TEST_F(GpuIncludes, TheWorkingDirectoryIsNotSearched) {
  constexpr char source[] = R"(
#include "value.hpp"
extern "C" __global__ void f(int* x) { *x = VALUE; }
)";
  write("here/value.hpp", "#define VALUE 7");
  write("own/inner/value.hpp", "#include \"beside.hpp\"");
  write("own/inner/beside.hpp", "#define VALUE 7");
  std::filesystem::path const before = std::filesystem::current_path();
  std::filesystem::current_path(folder() / "here");
  try {
    static_cast<void>(ptx(source));
    ADD_FAILURE() << "the header was found";
  } catch (compile_error const& why) {
    EXPECT_EQ(why.source(), "kernels.cu");
    EXPECT_EQ(why.line(), 2u);
    EXPECT_TRUE(why.log().find("value.hpp") != std::string::npos) << why.log();
    EXPECT_EQ(why.log().find("/proc"), std::string::npos) << why.log();
  }
  std::filesystem::current_path(before);
  write("own/value.hpp", "#include \"inner/value.hpp\"");
  options_.include_directories = {folder() / "own"};
  EXPECT_NE(ptx(source).find(".entry f("), std::string::npos);
}

}  // namespace
}  // namespace flotilla::compiler
