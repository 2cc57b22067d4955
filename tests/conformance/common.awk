# Prints the lines of the second transcript that can be compared with the first. A section that is
# also in the first file is printed completely. Of any other section, only the heading is printed.
# The lines before the first section contain the date and the machine, and are omitted.
#
#   awk -f common.awk <a GPU's transcript> <the transcript>
FNR == NR {
  if (/^# [a-z0-9_]+$/) { asked[$0] = 1 }
  next
}
/^# [a-z0-9_]+$/ {
  shown = $0 in asked
  begun = 1
  print
  next
}
begun && shown
