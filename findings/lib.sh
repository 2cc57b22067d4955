# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Sourced by the scripts of this folder. They work in a temporary folder, which is removed at the end.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# pip_install PACKAGE==VERSION…: into the virtual environment `venv`.
pip_install() {
  [ -d venv ] || python3 -m venv venv
  venv/bin/pip --quiet --disable-pip-version-check install --only-binary :all: "$@"
}

# unpack_debian PACKAGE=VERSION…: into the folder `root`, without installing them.
unpack_debian() {
  mkdir packages
  # As root, apt would download as a user who may not write here, and would print a warning.
  (cd packages && apt-get -qq -o APT::Sandbox::User=root download "$@")
  for package in packages/*.deb; do dpkg --extract "$package" root; done
  rm -r packages
}

# expect WHAT SEEN EXPECTED: ends the script with status 1 if the behaviour has changed.
expect() {
  if [ "$2" != "$3" ]; then
    printf 'CHANGED: %s\n  expected: %s\n  seen:     %s\n' "$1" "$3" "$2" >&2
    exit 1
  fi
  printf '%s: %s\n' "$1" "$2"
}
