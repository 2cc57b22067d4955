# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Writes a depfile: the files that the line markers in the output of a preprocessor name, as
# dependencies of the file `target`.
function escaped(path) {
  gsub(/[ #]/, "\\\\&", path)
  gsub(/[$]/, "$$", path)
  return path
}
BEGIN { printf "%s:", escaped(target) }
/^# [0-9]+ "/ {
  file = $0
  sub(/^# [0-9]+ "/, "", file)
  sub(/".*/, "", file)
  if (file !~ /^</ && !(file in seen)) {
    seen[file] = 1
    printf " \\\n  %s", escaped(file)
  }
}
END { printf "\n" }
