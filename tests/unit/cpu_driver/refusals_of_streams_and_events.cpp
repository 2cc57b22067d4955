// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The refusals of streams and events. Streams and events can be created only if a context is
// current. A null stream means the NULL stream of the current context. Calls with another stream or
// with an event need no current context.
#include "refusal_rows.hpp"

namespace flotilla::cpu_driver {

std::vector<refusal> refusals_of_streams_and_events() {
  return {
      ROW(cuStreamCreate, (&w.made_stream, 0), none, gone, (nullptr, 0), value),
      ROW(cuStreamCreateWithPriority, (&w.made_stream, 0, 0), none, gone, (nullptr, 0, 0), value),
      ROW(cuStreamDestroy_v2, (w.stream), ok, ok, (nullptr), handle),
      ROW(cuStreamQuery, (nullptr), none, gone, (w.made_stream), ok),
      ROW(cuStreamSynchronize, (nullptr), none, gone, (w.made_stream), ok),
      ROW(cuStreamWaitEvent, (w.stream, w.event, 0), ok, ok, (nullptr, nullptr, 0), handle),
      ROW(cuStreamGetCtx, (nullptr, &w.context), none, gone, (w.stream, nullptr), value),
      ROW(cuStreamGetCtx_v2, (nullptr, &w.context, &w.made_green), none, gone,
          (w.stream, nullptr, nullptr), value),
      ROW(cuStreamGetGreenCtx, (nullptr, &w.made_green), none, gone, (w.stream, nullptr), value),
      ROW(cuStreamGetPriority, (w.stream, &w.number), ok, ok, (w.stream, nullptr), value),
      ROW(cuStreamGetFlags, (w.stream, &w.word), ok, ok, (w.stream, nullptr), value),
      ROW(cuStreamGetId, (w.stream, &w.wide), ok, ok, (w.stream, nullptr), value),
      ROW(cuStreamGetDevice, (nullptr, &w.number), none, gone, (w.stream, nullptr), value),
      ROW(cuStreamIsCapturing, (w.stream, &w.capturing), ok, ok, (w.stream, nullptr), value),
      ROW(cuStreamWriteValue32_v2, (w.stream, w.memory, 1, 0), ok, ok, (nullptr, 0, 1, 0), value),
      ROW(cuStreamWriteValue64_v2, (w.stream, w.memory, 1, 0), ok, ok, (nullptr, 0, 1, 0), value),
      ROW(cuStreamWaitValue32_v2, (w.stream, w.memory, 0, CU_STREAM_WAIT_VALUE_GEQ), ok, ok,
          (nullptr, 0, 0, CU_STREAM_WAIT_VALUE_GEQ), value),
      ROW(cuStreamWaitValue64_v2, (w.stream, w.memory, 0, CU_STREAM_WAIT_VALUE_GEQ), ok, ok,
          (nullptr, 0, 0, CU_STREAM_WAIT_VALUE_GEQ), value),
      ROW(cuLaunchHostFunc,
          (
              w.stream, [](void*) {}, nullptr),
          ok, ok, (w.stream, nullptr, nullptr), value),
      ROW(cuEventCreate, (&w.made_event, 0), none, gone, (nullptr, 0), value),
      ROW(cuEventDestroy_v2, (w.event), ok, ok, (nullptr), handle),
      ROW(cuEventRecord, (w.event, nullptr), none, gone, (nullptr, nullptr), handle),
      ROW(cuEventRecordWithFlags, (w.event, w.stream, 0), ok, ok, (nullptr, nullptr, 0), handle),
      ROW(cuEventQuery, (w.event), ok, ok, (nullptr), handle),
      ROW(cuEventSynchronize, (w.event), ok, ok, (nullptr), handle),
      ROW(cuEventElapsedTime, (&w.real, w.recorded, w.recorded), ok, ok,
          (nullptr, w.recorded, w.recorded), value),
      ROW(cuEventElapsedTime_v2, (&w.real, w.recorded, w.recorded), ok, ok,
          (nullptr, w.recorded, w.recorded), value),
  };
}

}  // namespace flotilla::cpu_driver
