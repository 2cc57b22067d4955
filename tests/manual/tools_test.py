# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""tools_test TOOLS_FOLDER: tests of the programs in docs/manual/tools, above all that they find
what is wrong."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
tools = Path(sys.argv.pop(1))


def load(name: str):
    loader = importlib.machinery.SourceFileLoader(name, str(tools / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


doxygen_filter = load("doxygen_filter")
check_links = load("check_links")
check_reference = load("check_reference")
build_manual = load("build_manual")


class Filter(unittest.TestCase):
    def filtered(self, *lines: str) -> list[str]:
        # The first comment is that of the file.
        text = "\n".join(["/// The file.", "", "namespace n {", *lines])
        return doxygen_filter.filtered(text).split("namespace n {\n")[1].split("\n")

    def test_the_first_comment_is_that_of_the_file(self):
        made = doxygen_filter.filtered("#pragma once\n/// Tickets.\n\n#include <a>\n")
        self.assertIn("/// @file\n/// Tickets.\n", made)

    def test_a_comment_of_a_class_at_the_top_stays(self):
        made = doxygen_filter.filtered("namespace n {\n/// A class.\nclass a {};\n")
        self.assertNotIn("@file", made)

    def test_an_aligned_paragraph_gets_a_title(self):
        self.assertEqual(
            self.filtered("/// Threads  any, even", "///          in a callable.", "int f();"),
            ["/// @par Threads", "/// Any, even", "/// in a callable.", "int f();"],
        )

    def test_a_sentence_that_begins_with_a_title_stays(self):
        self.assertEqual(
            self.filtered("/// Makes tasks.", "/// Threads call it."),
            ["/// Makes tasks.", "/// Threads call it."],
        )

    def test_a_list_in_a_paragraph_keeps_its_indent(self):
        self.assertEqual(
            self.filtered("/// Order  One of:", "///        1. a", "///           b"),
            ["/// @par Order", "/// One of:", "/// 1. a", "///    b"],
        )

    def test_a_text_after_a_list_begins_a_paragraph(self):
        self.assertEqual(
            self.filtered("/// One of:", "/// - a", "///   b", "/// - c", "/// Or none."),
            ["/// One of:", "/// - a", "/// b", "/// - c", "///", "/// Or none."],
        )

    def test_the_end_of_a_comment_of_c_is_no_text(self):
        self.assertEqual(
            self.filtered("/** One.", " *", " * Two.", " */"), ["/// One.", "///", "/// Two."]
        )

    def test_each_exception_gets_a_command(self):
        self.assertEqual(
            self.filtered("/// @throws one, two  Why.", "/// @throws std::three, four"),
            [
                "/// @throws one Why.",
                "/// @throws two Why.",
                "/// @throws std::three",
                "/// @throws four",
            ],
        )

    def test_a_list_of_exceptions_can_be_longer_than_a_line(self):
        self.assertEqual(
            self.filtered("/// @throws one, two,", "/// three"),
            ["/// @throws one", "/// @throws two", "/// @throws three"],
        )

    def test_other_exceptions_are_a_paragraph(self):
        self.assertEqual(
            self.filtered("/// @throws the exceptions of `f`"),
            ["/// @par Throws", "/// the exceptions of `f`"],
        )

    def test_the_guarantee_is_a_paragraph(self):
        self.assertEqual(
            self.filtered(
                "/// @throws one  Why.", "///         If the call throws, nothing is done."
            ),
            [
                "/// @throws one Why.",
                "/// @par Guarantee",
                "/// If the call throws, nothing is done.",
            ],
        )

    def test_values_of_c_functions(self):
        self.assertEqual(
            self.filtered(
                "/** Does it.", " * @return FLOTILLA_ONE  Why.", " *         FLOTILLA_TWO */"
            ),
            ["/// Does it.", "/// @retval FLOTILLA_ONE Why.", "/// @retval FLOTILLA_TWO"],
        )

    def test_headers_and_documents_are_literal(self):
        self.assertEqual(
            self.filtered(
                "/// See <flotilla/a.hpp> and docs/kernels.md#twins, `<flotilla/d.hpp>`."
            ),
            ["/// See `<flotilla/a.hpp>` and `docs/kernels.md#twins`, `<flotilla/d.hpp>`."],
        )

    def test_code_is_unchanged(self):
        block = ["/// Example:", "///", "///     if (a) {", "///       f<b>();", "///     }"]
        self.assertEqual(self.filtered(*block), block)

    def test_private_parts_are_removed_and_lines_are_kept(self):
        self.assertEqual(
            self.filtered(
                "class a {", " public:", "  int b;", " private:", "  int c;", "};", "int d;"
            ),
            ["class a {", " public:", "  int b;", "", "", "};", "int d;"],
        )

    def test_the_inline_namespace_is_removed(self):
        self.assertEqual(
            self.filtered("inline namespace v0_1 {", "int a;", "}  // namespace v0_1"),
            ["", "int a;", ""],
        )


class Links(unittest.TestCase):
    def problems(self, **pages: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                (Path(folder) / f"{name}.html").write_text(text, encoding="utf-8")
            site = check_links.Site(Path(folder))
            site.check()
            return site.problems

    def test_a_good_site(self):
        self.assertEqual(
            self.problems(
                index='<a href="b.html#p">b</a><a href="https://example.org/c?d">c</a>',
                b='<p id="p"><a href="#p">p</a><a href="mailto:a@example.org">m</a>',
            ),
            [],
        )

    def test_what_is_wrong(self):
        for link in ("c.html", "index.html#p", "c.png", "https:/example.org", "http://a b.org"):
            with self.subTest(link):
                found = self.problems(index=f'<a href="{link}">c</a>')
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"index.html: '{link}'", found[0])

    def test_a_missing_picture(self):
        self.assertIn("there is no such file", self.problems(index='<img src="a.png">')[0])

    def test_a_page_to_which_no_page_leads(self):
        self.assertEqual(self.problems(index="", b=""), ["b.html: no page leads to this page"])

    def test_a_site_without_a_first_page(self):
        self.assertEqual(self.problems(b=""), ["index.html is missing"])


class Reference(unittest.TestCase):
    def check(self, *compounds: str) -> set[str]:
        parse = check_reference.ElementTree.fromstring
        return check_reference.undocumented_names([parse(each) for each in compounds])

    def test_names_without_comments(self):
        with_comment = "<detaileddescription><para>It.</para></detaileddescription>"
        self.assertEqual(
            self.check(
                f'<compounddef kind="class"><compoundname>a</compoundname>{with_comment}'
                "</compounddef>",
                '<compounddef kind="struct"><compoundname>b</compoundname></compounddef>',
                '<compounddef kind="namespace"><compoundname>n</compoundname>'
                f"<memberdef><name>f</name>{with_comment}</memberdef>"
                "<memberdef><name>f</name></memberdef><memberdef><name>g</name></memberdef>"
                "</compounddef>",
            ),
            {"b", "n::g"},
        )


class Warnings(unittest.TestCase):
    def test_known_and_unknown_warnings(self):
        with tempfile.TemporaryDirectory() as folder:
            accepted = Path(folder) / "accepted"
            accepted.write_text("# why\na.hpp: warning: known\n", encoding="utf-8")
            check = lambda *found: build_manual.check_warnings(list(found), accepted)
            self.assertEqual(check("a.hpp:12: warning: known"), [])
            self.assertEqual(
                check("a.hpp:12: warning: known", "a.hpp:1: warning: new"),
                ["a.hpp:1: warning: new"],
            )
            self.assertEqual(check(), ["accepted: this warning is gone: a.hpp: warning: known"])


unittest.main()
