# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Reads traces with the classes that protoc makes of Perfetto's definitions."""
import importlib
import os
import subprocess
import sys


def load(protoc, definitions):
    """Returns the module with the classes of Perfetto's messages."""
    subprocess.run([protoc, "--proto_path", os.path.dirname(definitions), "--python_out", ".", definitions],
                   check=True, timeout=60)
    sys.path.insert(0, ".")
    return importlib.import_module("perfetto_part_pb2")


def unknown_fields(message):
    """Returns whether the message has fields that Perfetto's definitions lack."""
    if len(message.UnknownFields()) != 0:
        return True
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        values = value if field.label == field.LABEL_REPEATED else [value]
        if any(unknown_fields(each) for each in values):
            return True
    return False


def read(perfetto, file):
    """Returns a trace, which has packets, and only fields that Perfetto knows."""
    trace = perfetto.Trace()
    with open(file, "rb") as bytes_of_file:
        trace.ParseFromString(bytes_of_file.read())
    assert len(trace.packet) > 0
    assert not unknown_fields(trace), "the trace has fields that Perfetto does not know"
    return trace


def clock_bounds(perfetto, file):
    """Returns for each answer of rank 0 between which differences, in ns, its steady clock and that
    of the file's rank are, if both are clocks of one machine."""
    trace = read(perfetto, file)
    names, values, bounds, begun = {}, {}, [], None
    for packet in trace.packet:
        begun = next((each.timestamp for each in packet.clock_snapshot.clocks if each.clock_id == 3), begun)
        names.update({each.iid: each.name for each in packet.interned_data.event_names})
        values.update({each.iid: each.name for each in packet.interned_data.debug_annotation_names})
        event = packet.track_event
        if names.get(event.name_iid) != "clock":
            continue
        of = {values[each.name_iid]: each.uint_value for each in event.debug_annotations}
        if "run" in of:
            ahead = of["rank0_ns"] - begun - packet.timestamp
            bounds.append((ahead, ahead + of["round_ns"]))
    return bounds
