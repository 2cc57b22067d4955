# Of a transcript, what two of them can be compared by: the sections that the first file has, line
# for line, and of others the heading alone. Lines above the first section say when and where.
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
