# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Removes the text of system headers and of CUDA's headers from the output of a preprocessor. The
# variable `toolkit` holds CUDA's folders, separated by "|".
BEGIN { count = split(toolkit, folders, "|") }
/^# [0-9]+ "/ {
  file = $0
  sub(/^# [0-9]+ "/, "", file)
  flags = file
  sub(/".*/, "", file)
  sub(/^[^"]*"/, "", flags)
  keep = flags !~ / 3/ && file !~ /^</
  for (i = 1; i <= count; ++i) {
    if (index(file, folders[i] "/") == 1) { keep = 0 }
  }
}
keep { print }
