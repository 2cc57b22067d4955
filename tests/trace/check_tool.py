# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Checks `flotilla trace`, FLOTILLA_TRACE and their errors."""
import os
import re
import subprocess
import sys
import xml.dom.minidom

program, tool = sys.argv[1:]


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def refused(done, *texts, status=1):
    """Checks that a command failed with a message that has all texts."""
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    for text in texts:
        assert text in done.stderr, (text, done.stderr)


traced = run(program, "5", FLOTILLA_TRACE="good.pftrace")
assert traced.returncode == 0 and traced.stderr == "", traced.stderr

# requirement: the report has the waits, the critical path and the devices
shown = run(tool, "trace", "good.pftrace", "--svg", "good.svg", "--top", "3")
assert shown.returncode == 0, shown.stderr
assert "good.pftrace: 43 tasks\n" in shown.stdout, shown.stdout
waits = shown.stdout.split("longest waits")[1].split("\n\n")[0].splitlines()
assert len(waits) == 5, waits  # the title, the heading and three tasks
assert [float(line.split()[1]) for line in waits[2:]] == sorted(
    (float(line.split()[1]) for line in waits[2:]), reverse=True)
assert re.search(r"critical path: \d+ tasks?, \d+\.\d+ ms", shown.stdout), shown.stdout
assert re.search(r"device 0: .*%", shown.stdout) and re.search(r"device 1: .*%", shown.stdout)

# requirement: the picture is well-formed, and has all slices as titles
picture = xml.dom.minidom.parse("good.svg")
assert picture.documentElement.tagName == "svg"
titles = {each.firstChild.data.split(",")[0] for each in picture.getElementsByTagName("title")}
assert {"first 0", "left 4", "call"} <= titles, titles
assert len(picture.getElementsByTagName("line")) == 40  # four arrows of each round on each device

# requirement: the trace and the picture are valid whatever a label contains
odd = run(program, "1", "odd labels", FLOTILLA_TRACE="odd.pftrace")
assert odd.returncode == 0 and odd.stderr == "", odd.stderr
with open("odd.pftrace", "rb") as file:
    written = file.read()
assert "gr\u00fc\u00df".encode() in written
assert b"\xff\xc3(" not in written and b"??(" in written
assert b"x" * 254 + b"\xc3" not in written  # a character that the length of a label cut off
shown = run(tool, "trace", "odd.pftrace", "--svg", "odd.svg")
assert shown.returncode == 0, shown.stderr
picture = xml.dom.minidom.parse("odd.svg")  # raises an error if it is not well-formed
titles = {each.firstChild.data.split(",")[0] for each in picture.getElementsByTagName("title")}
assert {"<&\"'>]]>", "??(", "gr\u00fc\u00df"} <= titles, titles

# error guess: files that are no traces
refused(run(tool, "trace", "missing.pftrace"), "missing.pftrace", "No such file")
refused(run(tool, "trace", "."), "'.' is a folder")
open("empty.pftrace", "w").close()
refused(run(tool, "trace", "empty.pftrace"), "'empty.pftrace' is empty")
refused(run(tool, "trace", program), program, "is no trace")
refused(run(tool, "trace"), "file is required", status=2)
with open("good.pftrace", "rb") as file:
    good = file.read()
for size in (len(good) - 3, len(good) // 2, 40, 3):
    with open("cut.pftrace", "wb") as file:
        file.write(good[:size])
    refused(run(tool, "trace", "cut.pftrace"), "'cut.pftrace'")
refused(run(tool, "trace", "good.pftrace", "--svg", "missing/picture.svg"), "missing/picture.svg")

# error guess: a trace that cannot be written does not stop the program
bad = run(program, FLOTILLA_TRACE="missing/bad.pftrace")
assert bad.returncode == 0 and bad.stdout == "done\n", bad
assert "FLOTILLA_TRACE" in bad.stderr and "missing/bad.pftrace" in bad.stderr, bad.stderr
full = run(program, FLOTILLA_TRACE="/dev/full")
assert full.returncode == 0 and full.stdout == "done\n", full
assert "/dev/full" in full.stderr and "No space left" in full.stderr, full.stderr

# requirement: ranks do not write to the same file
ranked = run(program, "1", FLOTILLA_TRACE="ranked.pftrace", PMI_RANK="3", PMI_SIZE="4")
assert ranked.returncode == 0 and ranked.stderr == "", ranked.stderr
assert os.path.exists("ranked.pftrace.rank3") and not os.path.exists("ranked.pftrace")
single = run(program, "1", FLOTILLA_TRACE="single.pftrace", PMI_RANK="0", PMI_SIZE="1")
assert single.returncode == 0 and os.path.exists("single.pftrace"), single.stderr

# error guess: wrong settings
refused(run(program, FLOTILLA_TRACE="x.pftrace", FLOTILLA_TRACE_EVERY="often"),
        "FLOTILLA_TRACE_EVERY", "'often'")
refused(run(program, FLOTILLA_TRACE="x.pftrace", FLOTILLA_TRACE_EVERY="0"), "FLOTILLA_TRACE_EVERY")
refused(run(program, FLOTILLA_TRACE_EVERY="4"), "FLOTILLA_TRACE_EVERY", "names no file")

# requirement: a sampled trace says so
sampled = run(program, "100", FLOTILLA_TRACE="sampled.pftrace", FLOTILLA_TRACE_EVERY="4")
assert sampled.returncode == 0, sampled.stderr
report = run(tool, "trace", "sampled.pftrace").stdout
count = int(re.search(r"(\d+) tasks, about one of 4", report).group(1))
assert 80 < count < 350, count  # 200 of 803 on average
print("good")
