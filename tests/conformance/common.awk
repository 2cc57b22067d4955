# Prints the comparable part of a transcript: of sections that the first file also has, all lines;
# of others, the heading. Lines before the first section have the date and the machine.
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
