#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# tomlkit 0.15.2 (PyPI): a tool reads a TOML file, sorts an array with sort(), and writes the file.
#
# Guess:  the written array is sorted, or sort() is not supported, as tomlkit says for slices.
# Seen:   the array is sorted in memory only. The text keeps the old order, so the next reader gets it.
#         reverse() and append() change both. Assigning sorted(array) does, too.
# So a test that looks at the document in memory passes, and the file is wrong.
. "$(dirname "$0")/lib.sh"
pip_install tomlkit==0.15.2
cat > check.py <<'CODE'
import sys
import tomlkit
document = tomlkit.parse("devices = [3, 1, 2]\n")
array = document["devices"]
if sys.argv[1] == "sort":
    array.sort()
elif sys.argv[1] == "reverse":
    array.reverse()
else:
    document["devices"] = sorted(array)
print(list(document["devices"]), document.as_string().removeprefix("devices = "), end="")
CODE
expect "sort, in memory and written" "$(venv/bin/python check.py sort)" "[1, 2, 3] [3, 1, 2]"
expect "reverse, in memory and written" "$(venv/bin/python check.py reverse)" "[2, 1, 3] [2, 1, 3]"
expect "assignment, in memory and written" "$(venv/bin/python check.py assign)" "[1, 2, 3] [1, 2, 3]"
