# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check locale` finds calls whose result depends on the locale."""

from planted import LAYERS, PlantedTest
from structure.locale_calls import check_locale
from structure.rules import Rules


class Locale(PlantedTest):
    def found(self, *exceptions):
        rules = {
            "library": ["src"],
            "programs": ["tools"],
            "suffixes": [".cpp"],
            "exception": [{"file": file, "text": text} for file, text in exceptions],
        }
        return check_locale(self.root, Rules({**LAYERS, "locale": rules}))

    def test_calls_of_the_library_are_found(self):
        for call in [
            "std::strtod(text, &end)",
            "stod (text)",
            "std::tolower(each)",
            "std::isspace(each)",
            "std::ostringstream made",
            'std::snprintf(text, sizeof text, "%d of %.2f", 1, 2.0)',
            'printf("%-8lg", 1.0L)',
            'setlocale(LC_ALL, "")',
        ]:
            self.plant("src/low/a.cpp", "\n" + call + ";\n")
            found = self.found()
            self.assertEqual(len(found), 1, call)
            self.assertTrue(found[0].startswith("src/low/a.cpp:2: "), found)

    def test_comments_and_other_calls_are_not(self):
        self.plant(
            "src/low/a.cpp",
            '// strtod(text)\n/* tolower(\n x) */\nbase::to_lower(x);\nprintf("%d%%", 1);\n'
            'ptx("add %f12, %a3;");\n',
        )
        self.assertEqual(self.found(), [])

    def test_programs_may_use_the_c_locale_and_no_other(self):
        self.plant("tools/a.cpp", 'std::printf("%.1f", 1.0);\n')
        self.assertEqual(self.found(), [])
        self.plant("tools/b.cpp", "std::locale::global(mine);\n")
        self.assertEqual(len(self.found()), 1)

    def test_exceptions_must_be_needed(self):
        self.plant("src/low/a.cpp", "stod(text);\n")
        self.assertEqual(self.found(("src/low/a.cpp", "stod")), [])
        self.assertEqual(len(self.found(("src/low/a.cpp", "stod"), ("src/low/b.cpp", "stod"))), 1)
