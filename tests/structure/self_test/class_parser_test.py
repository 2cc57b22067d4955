# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""The class parser understands declarations that are hard to parse."""

import unittest

from structure.class_parser import parse_classes


class ClassParserTest(unittest.TestCase):
    def members(self, body: str, head: str = "class x") -> list[str]:
        classes = parse_classes(f"{head} {{\n{body}\n}};\n")
        return classes[0].members

    def names(self, text: str) -> list[str]:
        return [info.name for info in parse_classes(text)]


class Heads(ClassParserTest):
    def test_plain_final_and_derived(self):
        for head in (
            "class x",
            "struct x final",
            "union x",
            "class x : public y<int, 3>, private z::w",
            "class EXPORT x final : decltype(f())",
            "struct alignas(64) x",
            'class [[nodiscard]] __attribute__((visibility("default"))) x : y<(1 > 0)>',
        ):
            classes = parse_classes(f"{head} {{ void f(); }};")
            self.assertEqual([(c.name, c.members) for c in classes], [("x", ["f"])], head)

    def test_names_have_their_namespaces_and_classes(self):
        self.assertEqual(
            self.names("""
            namespace a::b { inline namespace v1 { struct c { struct d {}; }; } }
            namespace { class e {}; }
            namespace f = a::b;
            extern "C" { struct g { int i; }; }
            struct a::b::h {};
        """),
            ["a::b::v1::c", "a::b::v1::c::d", "e", "g", "a::b::h"],
        )

    def test_templates_and_specializations(self):
        self.assertEqual(
            self.names("""
            template <class T, class = std::enable_if_t<(sizeof(T) > 4)>> class a {};
            template <> struct a<int> {};
            template <class T> requires std::integral<T> && (sizeof(T) < 8) struct b {};
            template <template <class> class C, int N = 3 * (2 > 1)> struct c<C<int>, N> {};
            template <class F> concept callable = requires(F f) { { f() } -> std::same_as<int>; };
            template class a<char>;
            extern template class a<short>;
        """),
            ["a", "a<int>", "b", "c<C<int>,N>"],
        )

    def test_what_is_no_class_definition(self):
        self.assertEqual(
            self.names("""
            class forward;
            enum class color : int { red, green };
            enum struct e { a };
            struct stat* find(struct stat const* from) { return nullptr; }
            using t = struct hidden*;
            template <class T> void f(T) {}
            struct stat buffer;
        """),
            [],
        )

    def test_unnamed_and_local_classes(self):
        self.assertEqual(
            self.names("""
            struct { int i; } global;
            static struct named { int i; } const table[] = {{1}, {2}};
            void f() {
              struct local { void g() {} };
              for (;;) { if (true) { class deep {}; } }
            }
        """),
            ["(unnamed)", "named", "local", "deep"],
        )

    def test_typedefs_of_structs_do_not_confuse(self):
        self.assertEqual(
            self.names("typedef struct { int a; } old_style;\nstruct after {};"), ["after"]
        )

    def test_macros_without_semicolons_do_not_swallow_a_class(self):
        self.assertEqual(
            self.names("MAKE_TYPES(int, 4)\nstruct x {};\nTEST_F(A, B) { struct y {}; }\n"),
            ["x", "y"],
        )


class Members(ClassParserTest):
    def test_constructors_overloads_and_operators_count(self):
        self.assertEqual(
            self.members("""
            x();
            explicit x(int a, int b = f(3)) noexcept : a_{a}, b_{[] { return 3; }()} {}
            ~x();
            void f(); void f() const; void f(int) &&;
            x& operator=(x const&); bool operator==(x const&) const; void operator<<(int);
            auto operator<=>(x const&) const -> int; x* operator->(); int operator[](int) const;
            bool operator()(int) const; explicit operator bool() const noexcept { return true; }
            operator std::vector<int> const&() const; void* operator new(std::size_t);
            static int g(); virtual void h() = 0;
        """),
            [
                "x",
                "x",
                "~x",
                "f",
                "f",
                "f",
                "operator=",
                "operator==",
                "operator<<",
                "operator<=>",
                "operator->",
                "operator[]",
                "operator()",
                "operator bool",
                "operator std::vector<int>const&",
                "operator new",
                "g",
                "h",
            ],
        )

    def test_defaulted_and_deleted_ones_do_not(self):
        self.assertEqual(
            self.members("""
            x() = default;
            x(x const&) = delete;
            x& operator=(x&&) noexcept = default;
            template <class T> x(T) requires(sizeof(T) > 1) = delete;
            bool operator==(x const&) const = default;
            ~x() noexcept(noexcept(f())) = default;
        """),
            [],
        )

    def test_variables_do_not(self):
        self.assertEqual(
            self.members("""
            int a = f(3), b{g()}, c[sizeof(int)];
            std::function<void(int)> callback;
            std::array<int, (3 > 2)> d{h(1), h(2)};
            void (*pointer)(int) = nullptr;
            void (x::*member)(int) const;
            int (&array)[3];
            decltype(f(1)) e{};
            alignas(64) std::atomic<int> g{0};
            static constexpr auto lambda = [](int i) { return i; };
            std::function<bool()> stop = [this] { return done(); };
            unsigned bits : 3, more : f(2);
            mutable std::mutex mutex_;
            std::vector<std::vector<int>> nested;
        """),
            [],
        )

    def test_types_assertions_and_friends_do_not(self):
        self.assertEqual(
            self.members("""
            using t = void (*)(int);
            using base::f;
            typedef int (*u)(int);
            static_assert(sizeof(int) == 4);
            enum class e { a = f(1), b };
            struct nested { void of_nested(); };
            friend class y;
            friend void g(x const&) { h(); }
            friend bool operator==(x const&, x const&);
            template <class T> friend void swap(T&, T&);
        """),
            [],
        )

    def test_declarations_over_several_lines(self):
        self.assertEqual(
            self.members("""
            template <class F>
            requires(!std::same_as<std::remove_cvref_t<F>, x> &&
                     std::invocable<std::decay_t<F>&, context&>)
                x(F&& function) {
              if constexpr (requires { static_cast<bool>(function == nullptr); }) { return; }
            }
            [[nodiscard]] inline
            std::map<int, std::pair<int, int>>
            find(std::function<void(int, int)> a = [](int, int) {},
                 int b = (1 < 2) ? 3 : 4)
                const noexcept(true);
        """),
            ["x", "find"],
        )

    def test_constraints_after_the_parameters(self):
        self.assertEqual(
            self.members("""
            template <class T> void f(T t) requires requires { t.g(); } && a<T> { body(); }
            template <class T> void g() requires (sizeof(T) > 1) || std::b<T, int> {}
            template <class T> requires requires(T t) { t + t; } void h(T) {}
        """),
            ["f", "g", "h"],
        )

    def test_bodies_of_every_form(self):
        self.assertEqual(
            self.members("""
            x(int a) : base<int>(a), list_{1, 2}, other_(f()) { if (a) { g(); } }
            template <class... T> x(T... t) : T(t)..., n_{sizeof...(T)} {}
            x() try : a_{1} { } catch (int) { } catch (...) { }
            void f() try { g(); } catch (std::exception const&) { throw; }
            auto g() -> decltype(h(1)) { return h(1); }
        """),
            ["x", "x", "x", "f", "g"],
        )

    def test_functions_that_return_functions_count_once(self):
        self.assertEqual(len(self.members("void (*f(int))(char);")), 1)

    def test_out_of_class_definitions_do_not_count(self):
        classes = parse_classes(
            "struct x { void f(); };\ninline void x::f() { }\nx::x() : a_{1} {}\n"
        )
        self.assertEqual(classes[0].members, ["f"])

    def test_comments_strings_and_branches_do_not_confuse(self):
        self.assertEqual(
            self.members("""
            // void a();
            /* void b(); } */
            char const* text = "}; void c();";
            char const* raw = R"x(}; void d() { )" )x";
            char brace = '}';
            int million = 1'000'000;
        #if defined(A)
            void e() {
        #else
            void e(int) {
        #endif
            }
        #if 0
            void f();
        #else
            void g();
        #endif
        #define MACRO() \\
            void h();
        """),
            ["e", "g"],
        )

    def test_access_and_attributes(self):
        self.assertEqual(
            self.members("""
          public:
            [[nodiscard]] [[gnu::hot]] int f() const;
            __attribute__((noinline)) void g();
          private: int h();
          protected:
            static inline constexpr int i() { return 1; }
        """),
            ["f", "g", "h", "i"],
        )


class Friends(ClassParserTest):
    def test_are_taken_as_they_are_written(self):
        info = parse_classes("""
            class x {
              friend class a; friend struct n::b; friend c;
              template <class T> friend class d; friend class e<int>; friend void f();
            };
        """)[0]
        self.assertEqual(info.friends, ["a", "n::b", "c", "d", "e"])


if __name__ == "__main__":
    unittest.main()
