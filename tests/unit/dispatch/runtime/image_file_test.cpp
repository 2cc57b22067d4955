// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Truncated files of kernels. A driver may read beyond their end and never return.

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "dispatch/runtime/image_file.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class ImageFile : public ::testing::Test {
 protected:
  ~ImageFile() override { std::filesystem::remove(path_); }
  /// Returns what is wrong with a file of these bytes.
  std::string why(std::string const& bytes) const {
    std::ofstream{path_, std::ios::binary}.write(bytes.data(),
                                                 static_cast<std::streamsize>(bytes.size()));
    return dispatch::why_truncated(path_.string());
  }
  static std::string fatbin(std::uint64_t bytes_after_header) {
    std::string made(16, '\0');
    std::memcpy(made.data(), "\x50\xed\x55\xba\x01\0\x10\0", 8);
    std::memcpy(made.data() + 8, &bytes_after_header, 8);
    return made;
  }

  std::filesystem::path const path_ =
      std::filesystem::temp_directory_path() / ("flotilla_image_" + std::to_string(getpid()));
};

TEST_F(ImageFile, CompleteFilesAreNotTruncated) {
  EXPECT_EQ(why(fatbin(4) + "code"), "");
  EXPECT_EQ(why(fatbin(4) + "code and another part"), "");
  EXPECT_EQ(why("// PTX text has no header with a size"), "");
  image const& test = test_image();
  EXPECT_EQ(why({static_cast<char const*>(test.cpu), test.cpu_bytes}), "");
  if (test.gpu != nullptr) {
    EXPECT_EQ(why({static_cast<char const*>(test.gpu), test.gpu_bytes}), "");
  }
}

TEST_F(ImageFile, TruncatedFilesAreNamedWithBothSizes) {
  EXPECT_THAT(why(fatbin(1000) + "code"), AllOf(HasSubstr("has 20 bytes"), HasSubstr("1016")));
  EXPECT_THAT(why(fatbin(1000).substr(0, 7)), HasSubstr("has 7 bytes"));
  // regression: the size overflowed, so the file counted as complete
  EXPECT_THAT(why(fatbin(UINT64_MAX) + "code"), HasSubstr("has 20 bytes"));
  image const& test = test_image();
  for (std::size_t const bytes : {std::size_t{20}, std::size_t{100}, test.cpu_bytes - 1}) {
    EXPECT_THAT(why({static_cast<char const*>(test.cpu), bytes}),
                HasSubstr("has " + std::to_string(bytes) + " bytes"));
  }
}

}  // namespace
}  // namespace flotilla::test
