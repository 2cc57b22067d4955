# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""check_man_page PROGRAM SOURCE PAGE: compares the options and subcommands in the source of a man
page with what the program prints for --help, and checks that the page was made from the source."""

import re
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"--[a-z][a-z-]*")


def help_text(*command: str) -> str:
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout


def options_in_help(text: str) -> set[str]:
    """Returns the options at the beginning of lines: others may stand in descriptions."""
    return {
        found[0]
        for line in text.splitlines()
        if (found := re.match(r"\s+(?:-\w,)?(--[a-z][a-z-]*)", line))
        and (found := OPTION.search(line))
    }


def main() -> int:
    program, source, page = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    text = source.read_text(encoding="utf-8")
    general = help_text(program)
    _, _, listed = general.partition("\nSubcommands:\n")
    subcommands = re.findall(r"^  (\w+) ", listed, re.M)
    helps = [general]
    for each in subcommands:
        if each != "bench":  # the program flotilla_bench has a page of its own
            helps.append(help_text(program, each))
    if "--suite" in general:
        helps.append(help_text(program, "--suite", "patterns"))

    existing = set().union(*(options_in_help(each) for each in helps))
    described = {
        option
        for line in re.findall(r"^\.\. option:: (.*)$", text, re.M)
        for option in OPTION.findall(line)
    }
    problems = [f"{source.name}: {each} is not described" for each in sorted(existing - described)]
    problems += [
        f"{source.name}: there is no option {each}" for each in sorted(described - existing)
    ]
    for each in subcommands:
        if f"\n**{each}**\n" not in text:
            problems.append(f"{source.name}: the command {each} is not described")
    made = page.read_text(encoding="utf-8").replace("\\-", "-")
    problems += [
        f"{page.name}: {each} is missing" for each in sorted(described) if each not in made
    ]
    print("\n".join(problems + [f"{len(existing)} options, {len(problems)} problems"]))
    return 1 if problems or not existing else 0


if __name__ == "__main__":
    sys.exit(main())
