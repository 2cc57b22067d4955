# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Merges the traces of two ranks with `flotilla trace`, and reads the result with the classes that
protoc makes of Perfetto's definitions."""
import os
import re
import subprocess
import sys

import perfetto_reader

program, tool, protoc, definitions = sys.argv[1:]
perfetto = perfetto_reader.load(protoc, definitions)


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def write_traces(name):
    done = run(program, FLOTILLA_TRACE=name)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [name, name + ".2"]


def shown(*files):
    done = run(tool, "trace", *files)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ranks_of(report):
    """Returns the files of rank 0 and of rank 1."""
    return re.findall(r"^rank \d: ([^,\n]+)", report, re.MULTILINE)


def refused(text, *files):
    done = run(tool, "trace", *files)
    assert done.returncode == 1 and text in done.stderr, (text, done)


# requirement: the report is about all ranks, on one time axis
first, second = write_traces("ranks.pftrace")
report = shown(first, second, "--merged", "merged.pftrace", "--svg", "merged.svg", "--top", "50")
lines = report.splitlines()
assert sorted(ranks_of(report)) == [first, second], report
assert re.fullmatch(r"rank 0: \S+", lines[0]), report
known = re.fullmatch(r"rank 1: \S+, clock known to (\d+\.\d) us", lines[1])
assert known, report
assert lines[2].startswith("2 traces: "), report
path = re.findall(r"rank (\d), host +(step \d|x) ", report.split("critical path")[1])
steps = [int(name.split()[1]) for _, name in path if name != "x"]
# Not all steps: clocks are known to some microseconds, and so long a step takes.
assert {rank for rank, _ in path} == {"0", "1"} and steps == sorted(set(steps)), report
assert all(rank == str(int(name[-1]) % 2) for rank, name in path if name != "x"), report

# control: the trace of one rank has no steps of the other one
alone = shown(ranks_of(report)[0], "--top", "50").split("critical path")[1]
assert "rank" not in alone and len(re.findall(r"step \d", alone)) < 6, alone

# requirement: the merged file is a trace of its own, with the same report
assert shown("merged.pftrace", "--top", "50").split("\n", 1)[1] == report.split("\n", 3)[3]
trace = perfetto_reader.read(perfetto, "merged.pftrace")
assert {each.trusted_packet_sequence_id for each in trace.packet} == {1, 2}
names, tracks, processes, threads = {}, {}, {}, {}
sent, received, bound = {}, {}, {}
clocks = set()
for packet in trace.packet:
    part = packet.trusted_packet_sequence_id
    if packet.HasField("clock_snapshot"):
        clocks.add(packet.clock_snapshot.SerializeToString())
    names.update({(part, each.iid): each.name for each in packet.interned_data.event_names})
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, "two parts have the same track"
        assert track.parent_uuid == 0 or tracks[track.parent_uuid] == part, "a parent of another part"
        tracks[track.uuid] = part
        if track.HasField("process"):
            processes[track.process.pid] = track.process.process_name
        if track.HasField("thread"):
            threads.setdefault(track.thread.pid, []).append(track.thread.tid)
    if packet.HasField("track_event"):
        event = packet.track_event
        assert tracks[event.track_uuid] == part, "an event on a track of another part"
        assert event.name_iid == 0 or (part, event.name_iid) in names
        sent.update({each: (part, packet.timestamp) for each in event.flow_ids})
        received.update({each: (part, packet.timestamp) for each in event.terminating_flow_ids})
        if event.legacy_event.bind_id:
            assert bound.setdefault(event.legacy_event.bind_id, part) == part, "two ranks have a task"
assert len(clocks) == 1, "the parts have different clocks"
assert sorted(each.split(":")[0] for each in processes.values()) == ["rank 0", "rank 1"], processes
assert set(threads) == set(processes), (threads, processes)
assert len(received) >= 5 and set(received) == set(sent), (sent, received)
for each, (part, when) in received.items():
    max_error_ns = 1000 * float(known[1]) + 1000
    assert sent[each][0] != part and sent[each][1] < when + max_error_ns, (each, sent, received)

# requirement: the answers of rank 0 bound the difference of the clocks, which is 0 in one process
bounds = perfetto_reader.clock_bounds(perfetto, ranks_of(report)[1])
assert len(bounds) >= 8 and all(low <= 0 <= high for low, high in bounds), bounds

# error guess: traces that do not belong together
zero, one = ranks_of(report)
refused("are both of rank 0", zero, one, zero)
refused("different runs", zero, ranks_of(shown(*write_traces("other.pftrace")))[1])
refused("'merged.pftrace' was merged", "merged.pftrace", first)
refused("--merged needs", first, "--merged", "one.pftrace")
refused("missing/merged", first, second, "--merged", "missing/merged.pftrace")
with open(second, "rb") as file:
    good = file.read()
with open("cut.pftrace", "wb") as file:
    file.write(good[:-3])
refused("'cut.pftrace'", first, "cut.pftrace")
print("good")
