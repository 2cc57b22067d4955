# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check citations` finds citations of files and headings that do not exist."""

from planted import PlantedTest
from structure.citations import anchors_of, check_citations


class Citations(PlantedTest):
    def check(self):
        return check_citations(self.root, self.rules)

    def test_what_exists_may_be_cited(self):
        self.plant(
            "docs/a.md",
            "[b](sub/b.md) [up](../src/c.cpp) [here](#a-heading) [web](https://x.org/docs/z.md)"
            "\n# A heading\n",
        )
        self.plant("docs/sub/b.md", "See docs/a.md, and `docs/sub/*.md`.")
        self.plant(
            "src/c.cpp",
            "// docs/a.md says why. http://example.org/docs/none.md; another/docs/none.md\n",
        )
        self.assertEqual(self.check(), [])

    def test_a_file_that_does_not_exist_is_found_wherever_it_is_cited(self):
        self.plant("src/c.cpp", "\n// See docs/none.md.\n")
        self.plant("docs/a.md", "`src/none.cpp` and docs/results/none-*.txt\n")
        self.plant("run", "cat docs/none.md")
        self.assertEqual(
            self.check(),
            [
                "docs/a.md:1: cites src/none.cpp, which does not exist",
                "docs/a.md:1: cites docs/results/none-*.txt, which does not exist",
                "run:1: cites docs/none.md, which does not exist",
                "src/c.cpp:2: cites docs/none.md, which does not exist",
            ],
        )

    def test_a_path_from_the_folder_of_the_citing_file_is_allowed(self):
        self.plant("sample/src/c.cpp")
        self.plant("sample/CMakeLists.txt", "add_executable(c src/c.cpp)")
        self.assertEqual(self.check(), [])

    def test_a_link_that_leads_nowhere_is_found(self):
        self.plant("docs/a.md", "[x](none.md)\n[y](b.md#no-such)\n[z](#nor-here)\n")
        self.plant("docs/b.md", "# Such\n```\n# no such\n```\n")
        self.assertEqual(
            self.check(),
            [
                "docs/a.md:1: links to none.md, which does not exist",
                "docs/a.md:2: links to b.md#no-such, but that document has no such heading",
                "docs/a.md:3: links to #nor-here, but that document has no such heading",
            ],
        )

    def test_records_and_their_readme_name_each_other(self):
        self.plant("docs/results/README.md", "| `a.txt`, `gone.json` | a run |\n")
        self.plant("docs/results/a.txt", "docs/none.md is what the program printed")
        self.plant("docs/results/b.json")
        self.assertEqual(
            self.check(),
            [
                "docs/results/README.md: does not say what b.json is",
                "docs/results/README.md: names gone.json, which does not exist",
            ],
        )

    def test_what_a_build_makes_is_not_searched(self):
        self.plant("build/a.cpp", "// docs/none.md")
        self.assertEqual(self.check(), [])

    def test_headings_have_the_names_that_links_use(self):
        self.assertEqual(
            anchors_of("# What it `costs`, and [why](x.md)\n## 3. A & B\n## Same\n## Same\n"),
            {"what-it-costs-and-why", "3-a--b", "same", "same-1"},
        )
