// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/included_files.hpp"

#include <gtest/gtest.h>

#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

class IncludedFiles : public test::folder_fixture {
 protected:
  [[nodiscard]] included_files find(std::string const& source) const {
    return find_included_files(source, {folder() / "first", folder() / "second"});
  }
  static std::vector<std::string> texts(included_files const& in) {
    std::vector<std::string> made;
    for (included_file const& each : in.files) {
      made.push_back(each.path.empty() ? "no " + each.name : each.text);
    }
    return made;
  }
  using list = std::vector<std::string>;
};

// requirement
TEST_F(IncludedFiles, SearchesTheFoldersInTheirOrder) {
  write("first/a.hpp", "first a");
  write("second/a.hpp", "second a");
  write("second/b.hpp", "second b");
  EXPECT_EQ(texts(find("#include <a.hpp>\n#include \"b.hpp\"\n#include <vector>")),
            (list{"first a", "second b", "no vector"}));
}

// requirement: an inner header is found beside the one that includes it, and each file counts once
TEST_F(IncludedFiles, FollowsIncludesOfHeaders) {
  write("first/in/a.hpp", "#include \"b.hpp\"\n#include \"a.hpp\"");
  write("first/in/b.hpp", "inner b");
  write("first/b.hpp", "outer b");
  EXPECT_EQ(texts(find("#include <in/a.hpp>\n#include <in/a.hpp>")),
            (list{"#include \"b.hpp\"\n#include \"a.hpp\"", "inner b"}));
}

// error guess: unusual ways to write a directive
TEST_F(IncludedFiles, KnowsCommentsContinuedLinesAndSpaces) {
  write("first/a.hpp", "a");
  write("first/b.hpp", "b");
  write("first/c.hpp", "c");
  EXPECT_EQ(texts(find(" #\tinclude \\\n <a.hpp>\n/* x */ # /* y */ include \"b.hpp\"\n"
                       "#if __has_include ( <c.hpp> )\n#endif\n")),
            (list{"a", "b", "c"}));
  EXPECT_TRUE(texts(find("int include; // #include\n/* \n#include <a.hpp>\n */")).empty());
}

// error guess: what looks like the beginning of a comment, but is none
TEST_F(IncludedFiles, CommentsDoNotBeginInOtherCommentsAndLiterals) {
  write("first/a.hpp", "a");
  EXPECT_EQ(texts(find("// one /* \n#include <a.hpp>")), (list{"a"}));
  EXPECT_EQ(texts(find("char const* t = \"/*\\\"/*\";\n#include <a.hpp>")), (list{"a"}));
  EXPECT_FALSE(find("char const* t = R\"(\n/*)\";\n#include <a.hpp>").is_complete);
}

// requirement: names that a macro makes are reported
TEST_F(IncludedFiles, SaysIfTheListIsIncomplete) {
  write("first/a.hpp", "#include NAME");
  EXPECT_TRUE(find("#include <vector>").is_complete);
  EXPECT_FALSE(find("#include NAME").is_complete);
  EXPECT_FALSE(find("#include <a.hpp>").is_complete);
  EXPECT_FALSE(find("#include_next <a.hpp>").is_complete);
}

}  // namespace
}  // namespace flotilla::compiler
