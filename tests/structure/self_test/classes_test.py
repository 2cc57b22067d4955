# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check classes` finds classes with too many member functions and pairs of mutual friends."""

from planted import PlantedTest
from structure.classes import check_classes


class Classes(PlantedTest):
    def check(self):
        return check_classes(self.root, self.rules)

    def test_a_class_at_the_limit_is_allowed(self):
        self.plant(
            "src/a.hpp",
            "struct a {\n  a() = default;\n  ~a() = delete;\n  void f();\n  void g();\n};\n",
        )
        self.assertEqual(self.check(), [])

    def test_a_class_that_is_too_large_is_found(self):
        self.plant(
            "src/a.hpp",
            "\nnamespace n {\nclass a {\n  a(int);\n  void f();\n  void f(int) {}\n};\n}\n",
        )
        self.assertEqual(
            self.check(), ["src/a.hpp:3: n::a has 3 member functions, but at most 2 are allowed"]
        )

    def test_inherited_members_do_not_count(self):
        self.plant(
            "src/a.hpp",
            "struct a { void f(); void g(); };\nstruct b : a { using a::f; void h(); };\n",
        )
        self.assertEqual(self.check(), [])

    def test_members_of_a_nested_class_are_its_own(self):
        self.plant(
            "src/a.hpp", "struct a { void f(); void g(); struct b { void h(); void i(); }; };\n"
        )
        self.assertEqual(self.check(), [])

    def test_one_friend_is_allowed(self):
        self.plant("src/a.hpp", "class a { friend class b; };\nclass b {};\n")
        self.assertEqual(self.check(), [])

    def test_two_classes_that_are_friends_of_each_other_are_found(self):
        self.plant("src/a.hpp", "namespace n {\nclass b;\nclass a { friend class b; };\n}\n")
        self.plant("src/b.hpp", "namespace n {\nclass b {\n  friend n::a;\n};\n}\n")
        self.assertEqual(
            self.check(), ["src/a.hpp:3: n::a and n::b (src/b.hpp:2) are friends of each other"]
        )

    def test_friends_of_one_name_in_another_namespace_are_other_classes(self):
        self.plant("src/a.hpp", "namespace n { class a { friend class m::b; }; class b {}; }\n")
        self.plant("src/b.hpp", "namespace m { class b { friend class a; }; class a {}; }\n")
        self.assertEqual(self.check(), [])

    def test_friends_of_nested_classes_and_templates_are_resolved(self):
        self.plant(
            "src/a.hpp",
            """
            template <class T> class outer {
              class inner { friend class outer<T>; };
              template <class> friend struct ::other;
            };
            template <class T> struct other { friend outer<T>; friend class outer<T>::inner; };
        """,
        )
        self.assertEqual(
            self.check(), ["src/a.hpp:6: other and outer (src/a.hpp:2) are friends of each other"]
        )

    def test_a_file_that_cannot_be_followed_is_reported(self):
        self.plant("src/a.hpp", "struct a {\n  void f(;\n};\n")
        self.plant("src/b.hpp", "struct b {\n  void f();\n")
        problems = self.check()
        self.assertEqual(len(problems), 2)
        self.assertRegex(
            problems[0], r"^src/a.hpp: the class parser cannot parse this file: line \d: "
        )
        self.assertEqual(
            problems[1],
            "src/b.hpp: the class parser cannot parse this file: line 2: '}' of b is missing",
        )
