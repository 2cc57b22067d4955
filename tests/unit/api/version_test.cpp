// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// If library and headers come from one build, they have the same version.

#include <gtest/gtest.h>

#include <string>

#include <flotilla/version.hpp>

namespace flotilla {
namespace {

// requirement
TEST(Version, OfTheLibraryEqualsTheMacros) {
  version_info const linked = version();
  EXPECT_EQ(linked.major, FLOTILLA_VERSION_MAJOR);
  EXPECT_EQ(linked.minor, FLOTILLA_VERSION_MINOR);
  EXPECT_EQ(linked.patch, FLOTILLA_VERSION_PATCH);
  EXPECT_EQ(linked.text, FLOTILLA_VERSION);
}

// requirement
TEST(Version, TextConsistsOfTheNumbers) {
  version_info const linked = version();
  EXPECT_EQ(linked.text, std::to_string(linked.major) + "." + std::to_string(linked.minor) + "." +
                             std::to_string(linked.patch));
}

}  // namespace
}  // namespace flotilla
