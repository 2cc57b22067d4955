/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_MEMORY_H
#define FLOTILLA_C_MEMORY_H
/** Buffers, and places in memory that copies and fills use. flotilla/c/task.h submits copies. */

#include <stddef.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** Allocates memory of a device, without initialising it. 0 bytes have the address null.
 * @return FLOTILLA_UNKNOWN_DEVICE
 *         FLOTILLA_DRIVER_ERROR  The device does not have that much free memory.
 * Blocks: until the thread that drives the device has launched the current batch. */
FLOTILLA_C_EXPORT flotilla_status flotilla_device_alloc(flotilla_runtime rt, unsigned device,
                                                        size_t bytes, flotilla_buffer* made);

/** Allocates pinned memory of the host, which the program and all devices can use. Copies from and
 * to it need no staging.
 * @return FLOTILLA_DRIVER_ERROR */
FLOTILLA_C_EXPORT flotilla_status flotilla_host_alloc(flotilla_runtime rt, size_t bytes,
                                                      flotilla_buffer* made);

/** Frees a buffer. The call does not wait: the runtime frees the memory after the end of all tasks
 * that were submitted before. A runtime cannot be destroyed while one of its buffers exists. */
FLOTILLA_C_EXPORT flotilla_status flotilla_buffer_free(flotilla_buffer buffer);

/** Gets the address of a buffer. The program must not dereference an address of a device. */
FLOTILLA_C_EXPORT flotilla_status flotilla_buffer_address(flotilla_buffer buffer, void** address);

/** Gets the size of a buffer in bytes. */
FLOTILLA_C_EXPORT flotilla_status flotilla_buffer_bytes(flotilla_buffer buffer, size_t* bytes);

/** A place in memory: an offset in a buffer, or an address of pageable memory of the program. */
typedef struct flotilla_place {
  flotilla_buffer buffer; /**< its id is 0: `host` is the place */
  size_t offset;          /**< bytes from the start of the buffer */
  void* host;             /**< ignored if `buffer` names a buffer */
} flotilla_place;

/** Returns the place `offset` bytes behind the start of a buffer. */
static inline flotilla_place flotilla_in_buffer(flotilla_buffer buffer, size_t offset) {
  flotilla_place place;
  place.buffer = buffer;
  place.offset = offset;
  place.host = NULL;
  return place;
}

/** Returns a place in pageable memory of the program. A copy only reads its source, so `host` may
 * point to constant memory if it is the source of a copy. */
static inline flotilla_place flotilla_on_host(void const* host) {
  flotilla_place place;
  place.buffer.id = 0;
  place.offset = 0;
  place.host = (void*)host;
  return place;
}

FLOTILLA_C_END

#endif
