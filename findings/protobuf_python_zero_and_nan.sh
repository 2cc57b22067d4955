#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# protobuf for Python: 7.36.2 (upb) and 3.20.3 (pure Python), the same message with a float of proto3.
#
# Guess:  -0.0 equals the default 0.0, so it is not written; and a message with a NaN differs from
#         another one with a NaN, as the numbers do. The two versions agree.
# Seen:   upb writes -0.0 (5 bytes), pure Python does not, and the reader gets +0.0. With upb, two
#         messages with a NaN are equal; with pure Python they are not.
. "$(dirname "$0")/lib.sh"
cat > check.py <<'CODE'
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
file = descriptor_pb2.FileDescriptorProto(name="m.proto", syntax="proto3")
message = file.message_type.add(name="M")
message.field.add(name="f", number=1, label=1, type=2)
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
descriptor = pool.FindMessageTypeByName("M")
if hasattr(message_factory, "GetMessageClass"):
    M = message_factory.GetMessageClass(descriptor)
else:
    M = message_factory.MessageFactory(pool).GetPrototype(descriptor)
nan = float("nan")
print(len(M(f=-0.0).SerializeToString()), M(f=nan) == M(f=float("nan")))
CODE
export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=upb
pip_install protobuf==7.36.2
expect "7.36.2: bytes of -0.0, NaN equals NaN" "$(venv/bin/python check.py)" "5 True"
export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python
pip_install protobuf==3.20.3
expect "3.20.3: bytes of -0.0, NaN equals NaN" "$(venv/bin/python check.py)" "0 False"
