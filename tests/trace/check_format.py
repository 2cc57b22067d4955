# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace with the classes that protoc makes of Perfetto's definitions, and checks it."""
import collections
import os
import subprocess
import sys

import perfetto_reader

program, protoc, definitions = sys.argv[1:]
perfetto = perfetto_reader.load(protoc, definitions)
rounds = 20
devices = 2
subprocess.run([program, str(rounds)], check=True, timeout=60, stdout=subprocess.DEVNULL,
               env={**os.environ, "FLOTILLA_TRACE": "format.pftrace"})
trace = perfetto_reader.read(perfetto, "format.pftrace")
first = trace.packet[0]
assert first.sequence_flags == 1 and first.first_packet_on_sequence
clocks = {each.clock_id: each.timestamp for each in first.clock_snapshot.clocks}
assert clocks[64] == 0 and {1, 3, 6} <= set(clocks), clocks
assert first.trace_packet_defaults.timestamp_clock_id == 64

names, categories, values, texts, tracks = {}, {}, {}, {}, {}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    data = packet.interned_data
    names.update({each.iid: each.name for each in data.event_names})
    categories.update({each.iid: each.name for each in data.event_categories})
    values.update({each.iid: each.name for each in data.debug_annotation_names})
    texts.update({each.iid: each.str.decode() for each in data.debug_annotation_string_values})
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, "a track is described twice"
        assert track.parent_uuid == 0 or track.parent_uuid in tracks, "a parent comes after its child"
        tracks[track.uuid] = track
    if packet.HasField("track_event"):
        assert packet.track_event.track_uuid in tracks, "an event comes before its track"

# The slices of each track, from their events in the order of their times.
Event = perfetto.TrackEvent
events = sorted((each for each in trace.packet if each.HasField("track_event")),
                key=lambda each: each.timestamp)
open_slices = collections.defaultdict(list)
slices = []
sources = {}
arrows = set()
for packet in events:
    event = packet.track_event
    flow = event.legacy_event
    stack = open_slices[event.track_uuid]
    if event.type == Event.TYPE_SLICE_BEGIN:
        category = categories[event.category_iids[0]]
        assert category == "drive" or not stack, "slices of a row overlap"
        arguments = {values[each.name_iid]: texts.get(each.string_value_iid, each.uint_value)
                     for each in event.debug_annotations}
        stack.append({"name": names[event.name_iid], "category": category, "begin": packet.timestamp,
                      "arguments": arguments, "id": flow.bind_id})
    elif event.type == Event.TYPE_SLICE_END:
        one = stack.pop()
        one["end"] = packet.timestamp
        slices.append(one)
        if flow.flow_direction == Event.LegacyEvent.FLOW_IN:
            arrows.add((sources[flow.bind_id], one["id"]))
    elif event.type == Event.TYPE_INSTANT:
        if flow.flow_direction == Event.LegacyEvent.FLOW_IN:
            arrows.add((sources[flow.bind_id], stack[-1]["id"]))
    # As in Perfetto: an arrow begins at the event that had the number last.
    if flow.flow_direction == Event.LegacyEvent.FLOW_INOUT:
        assert flow.bind_id in sources, "a task without a submit"
    if flow.flow_direction in (Event.LegacyEvent.FLOW_OUT, Event.LegacyEvent.FLOW_INOUT):
        sources[flow.bind_id] = flow.bind_id
assert not any(open_slices.values()), "slices without ends"

tasks = {each["id"]: each for each in slices if each["category"] == "task"}
assert len(tasks) == sum(each["category"] == "task" for each in slices), "a task appears twice"
named = collections.Counter(each["name"] for each in tasks.values())
for i in range(rounds):
    for kind in ("first", "left", "right"):
        assert named[f"{kind} {i}"] == devices, (kind, i, named)
assert named["copy to host"] == rounds * devices and named["call"] == 1, named
for each in tasks.values():
    if each["name"].startswith(("first", "left", "right")):
        assert each["arguments"]["kernel"] == "write_value", each
    assert each["begin"] <= each["end"] and each["arguments"]["run_ns"] <= each["end"] - each["begin"]

# Each round has four arrows. `bind_id` names the predecessor.
counted = collections.Counter((tasks[a]["name"].split()[0], tasks[b]["name"].split()[0]) for a, b in arrows)
expected = {pair: rounds * devices
            for pair in (("first", "left"), ("first", "right"), ("left", "copy"), ("right", "copy"))}
assert counted == expected, counted
for a, b in arrows:
    assert tasks[a]["begin"] <= tasks[b]["begin"], "an arrow would point backwards"
    first_name, second_name = tasks[a]["name"], tasks[b]["name"]
    if second_name != "copy to host":
        assert first_name.split()[1] == second_name.split()[1], (first_name, second_name)
print(len(tasks), "tasks,", len(arrows), "arrows")
