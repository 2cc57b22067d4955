#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# pkgconf 3.0.7 (PyPI), and the same in pkgconf 1.8.1 (Debian 12): a package has the version 1.2rc1,
# and a build asks for at least 1.2.
#
# Guess:  a release candidate is older than its release, as for PyPI and in semantic versions.
# Seen:   1.2rc1 satisfies "at least 1.2" and "more than 1.2". Versions are compared as RPM does: more
#         segments are newer. Only a tilde, as in 1.2~rc1, makes it older.
. "$(dirname "$0")/lib.sh"
pip_install pkgconf==3.0.7.post0
export PKG_CONFIG_PATH="$work"
printf 'Name: a\nDescription: a\nVersion: 1.2rc1\n' > plain.pc
printf 'Name: a\nDescription: a\nVersion: 1.2~rc1\n' > tilde.pc
answer() { if venv/bin/pkgconf --exists "$1"; then echo yes; else echo no; fi; }
expect "1.2rc1 is at least 1.2" "$(answer 'plain >= 1.2')" yes
expect "1.2rc1 is more than 1.2" "$(answer 'plain > 1.2')" yes
expect "1.2~rc1 is at least 1.2" "$(answer 'tilde >= 1.2')" no
