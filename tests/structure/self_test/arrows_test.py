# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""`check arrows` finds every kind of include that points up, and reports no others."""

import unittest

from planted import PlantedTest
from structure.arrows import cycles, find_arrows
from structure.report import arrow_summary


class Arrows(PlantedTest):
    def find(self):
        return find_arrows(self.root, self.rules)

    def expect_up(self, source: str, include: str, why: str):
        self.plant(source, f"#include {include}\n")
        found = self.find()
        self.assertEqual(
            [str(arrow) for arrow in found.up], [f"{source}:1: includes {include}: {why}"]
        )

    def test_a_tree_without_violations_has_none(self):
        self.plant("include/flotilla/a.hpp", "#include <vector>\n#include <flotilla/version.hpp>\n")
        self.plant("src/low/b.hpp", "#include <flotilla/a.hpp>\n")
        self.plant("src/high/cellar/c.hpp", '#include "low/b.hpp"\n')
        self.plant(
            "src/high/roof/d.cpp", '#include "high/cellar/c.hpp"\n#include "high/roof/e.hpp"\n'
        )
        self.plant("src/high/roof/e.hpp")
        found = self.find()
        self.assertEqual(found.problems, [])
        self.assertEqual(found.up, [])
        self.assertEqual(len(found.arrows), 5)
        self.assertEqual(
            found.between_places(),
            {("low", "public"), ("high/cellar", "low"), ("high/roof", "high/cellar")},
        )

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.plant("src/high/cellar/c.hpp")
        self.expect_up(
            "src/low/b.cpp", '"high/cellar/c.hpp"', "layer low may not include layer high"
        )

    def test_a_layer_includes_only_the_layers_that_it_may(self):
        self.plant("src/hidden/h.hpp")
        self.expect_up(
            "src/high/roof/b.cpp", '"hidden/h.hpp"', "layer high may not include layer hidden"
        )

    def test_public_headers_lie_below_everything(self):
        self.plant("src/low/b.hpp")
        self.expect_up(
            "include/flotilla/a.hpp", '"low/b.hpp"', "layer public may not include layer low"
        )

    def test_a_room_may_not_include_a_higher_room(self):
        self.plant("src/high/roof/r.hpp")
        self.expect_up(
            "src/high/left/l.cpp",
            '"high/roof/r.hpp"',
            "high/left (floor 2) may not include high/roof (floor 3), which is higher",
        )

    def test_rooms_of_one_floor_may_not_know_each_other(self):
        self.plant("src/high/right/r.hpp")
        self.expect_up(
            "src/high/left/l.cpp",
            '"high/right/r.hpp"',
            "high/left (floor 2) and high/right (floor 2) may not include each other",
        )

    def test_paths_relative_to_the_including_file_are_followed(self):
        self.plant("src/high/roof/r.hpp")
        self.expect_up(
            "src/high/left/l.inc",
            '"../roof/r.hpp"',
            "high/left (floor 2) may not include high/roof (floor 3), which is higher",
        )

    def test_spaces_and_angle_brackets_do_not_hide_an_include(self):
        self.plant("src/high/roof/r.hpp")
        self.plant(
            "src/high/left/l.cpp", "// first line\n  #  include   <high/roof/r.hpp>  // why\n"
        )
        self.assertEqual([arrow.line for arrow in self.find().up], [2])

    def test_includes_in_comments_do_not_count(self):
        self.plant("src/high/roof/r.hpp")
        self.plant(
            "src/high/left/l.cpp",
            '// #include "high/roof/r.hpp"\n/*\n#include "high/roof/r.hpp"\n*/\n',
        )
        self.assertEqual(self.find().arrows, [])

    def test_a_file_without_a_layer_or_room_is_reported(self):
        self.plant("src/lost.cpp")
        self.plant("src/high/lost.cpp")
        self.plant("src/high/attic/lost.cpp")
        self.assertEqual(
            self.find().problems,
            [
                "src/high/attic/lost.cpp: belongs to no room of layer high",
                "src/high/lost.cpp: belongs to no room of layer high",
                "src/lost.cpp: belongs to no layer",
            ],
        )

    def test_a_room_that_does_not_exist_is_reported(self):
        (self.root / "src/high/left").rmdir()
        self.assertEqual(
            self.find().problems, ["high/left: structure.toml names it, but it does not exist"]
        )

    def test_an_include_that_is_not_found_is_reported(self):
        self.plant("src/low/a.cpp", '\n#include "low/gone.hpp"\n#include <flotilla/gone.hpp>\n')
        self.assertEqual(
            self.find().problems,
            [
                'src/low/a.cpp:2: includes "low/gone.hpp", which was not found',
                "src/low/a.cpp:3: includes <flotilla/gone.hpp>, which was not found",
            ],
        )

    def test_cycles_of_rooms_and_of_files_are_found(self):
        self.plant("src/high/roof/r.hpp", '#include "high/left/l.hpp"\n')
        self.plant("src/high/left/l.hpp", '#include "high/roof/r.hpp"\n')
        found = self.find()
        self.assertEqual(found.cycles_of_places(), [["high/left", "high/roof"]])
        self.assertEqual(found.cycles_of_files(), [["src/high/left/l.hpp", "src/high/roof/r.hpp"]])
        self.assertEqual(
            arrow_summary(found),
            "2 layers and rooms, 2 arrows between them, 1 of these up (1 includes),"
            " 1 cycles of layers and rooms, 1 cycles of files\ncycle: high/left, high/roof",
        )


class Cycles(unittest.TestCase):
    def test_a_chain_and_a_diamond_have_none(self):
        self.assertEqual(cycles([("a", "b"), ("b", "c")]), [])
        self.assertEqual(cycles([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]), [])

    def test_two_cycles_stay_apart(self):
        edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("x", "a")]
        self.assertEqual(cycles(edges), [["a", "b", "c"], ["d", "e"]])

    def test_an_arrow_to_itself_is_one(self):
        self.assertEqual(cycles([("a", "a"), ("a", "b")]), [["a"]])


if __name__ == "__main__":
    unittest.main()
