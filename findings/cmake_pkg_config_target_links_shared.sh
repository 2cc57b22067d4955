#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# CMake 4.4.4 with pkgconf 3.0.7 (PyPI): a .pc file has `Libs: -L… -Wl,-Bstatic -lfirst -Wl,-Bdynamic`, and
# its folder has libfirst.a and libfirst.so. A project uses pkg_check_modules with IMPORTED_TARGET.
#
# Guess:  the target links what the variable <NAME>_LDFLAGS links: the static archive.
# Seen:   the variable does. The target does not pass -lfirst on: CMake searches the file itself, prefers
#         the shared library, and passes its path. -Wl,-Bstatic stays in another place, without effect.
# So the recommended form needs a library at run time that the author of the package has avoided.
. "$(dirname "$0")/lib.sh"
pip_install cmake==4.4.4 pkgconf==3.0.7.post0
cat > check.pc <<'CODE'
Name: check
Description: check
Version: 1
Libs: -L${pcfiledir} -Wl,-Bstatic -lfirst -Wl,-Bdynamic
CODE
cat > CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(check REQUIRED IMPORTED_TARGET check)
add_executable(target main.c)
target_link_libraries(target PkgConfig::check)
add_executable(variable main.c)
target_link_libraries(variable ${check_LDFLAGS})
CODE
echo 'int first(void) { return 0; }' > first.c
echo 'int first(void); int main(void) { return first(); }' > main.c
gcc -fPIC -c first.c
ar rc libfirst.a first.o
gcc -shared first.o -o libfirst.so
export PKG_CONFIG_PATH="$work"
venv/bin/cmake -S . -B build -D PKG_CONFIG_EXECUTABLE="$work/venv/bin/pkgconf" > log
venv/bin/cmake --build build > log
linked() { readelf -d "build/$1" | grep -q 'NEEDED.*libfirst.so' && echo shared || echo static; }
expect "with the variable" "$(linked variable)" static
expect "with the target" "$(linked target)" shared
