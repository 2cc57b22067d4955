/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_DATA_H
#define FLOTILLA_C_DATA_H
/** Flows and logical data: arrays that a flow keeps where tasks need them. flotilla/c/flow.h submits
 * tasks that use data. docs/data.md and docs/flows.md describe what flows do. */

#include <stddef.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/memory.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** The options of a flow. A null pointer to options means the defaults, which are those of
 * FLOTILLA_FLOW_OPTIONS_INIT. */
typedef struct flotilla_flow_options {
  size_t size; /**< sizeof(flotilla_flow_options) */
  /** How many bytes of memory the flow may allocate on each device; 0: as many as there are. If the
   * limit is reached, the flow evicts data that the next task does not use. */
  size_t memory_limit;
} flotilla_flow_options;

#define FLOTILLA_FLOW_OPTIONS_INIT \
  { sizeof(flotilla_flow_options), 0 }

/** Creates a flow, which orders tasks by the data that they use. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_create(flotilla_runtime rt,
                                                       flotilla_flow_options const* options,
                                                       flotilla_flow* made);

/** Destroys a flow. The call does not wait: submitted tasks still run. Data of the flow can still
 * be copied to the host. A runtime cannot be destroyed while one of its flows exists. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_destroy(flotilla_flow flow);

/** The objects of data, in row-major order: neighbours of the last index are adjacent. */
typedef struct flotilla_shape_of_data {
  size_t object_bytes;
  size_t extents[3]; /**< the number of objects in each dimension; only the first `rank` count */
  unsigned rank;     /**< 1 to 3 */
} flotilla_shape_of_data;

/** Returns the shape of `count` objects. */
static inline flotilla_shape_of_data flotilla_vector(size_t object_bytes, size_t count) {
  flotilla_shape_of_data made = {0, {0, 0, 0}, 1};
  made.object_bytes = object_bytes;
  made.extents[0] = count;
  return made;
}

/** Returns the shape of `rows` times `columns` objects. */
static inline flotilla_shape_of_data flotilla_matrix(size_t object_bytes, size_t rows,
                                                     size_t columns) {
  flotilla_shape_of_data made = {0, {0, 0, 0}, 2};
  made.object_bytes = object_bytes;
  made.extents[0] = rows;
  made.extents[1] = columns;
  return made;
}

/** Makes data.
 * @param contents  Null: the data have no contents, and a task must write them before a task reads
 *                  them. Otherwise the memory that is their first valid copy: a place in a buffer,
 *                  or pageable memory of the program. The flow uses this memory as its copy there
 *                  and never frees it. It must exist until the data and all of their tiles were
 *                  destroyed. Between this call and flotilla_data_to_host, only tasks of the flow
 *                  may use it.
 * @param label     Null, or a name for errors, which is copied.
 * @return FLOTILLA_INVALID_ARGUMENT  An extent or the size of an object is zero, the rank is not 1
 *                                    to 3, or the buffer is too small. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_create(flotilla_flow flow,
                                                       flotilla_shape_of_data shape,
                                                       flotilla_place const* contents,
                                                       char const* label, flotilla_data* made);

/** Makes a token: it orders the functions that use it, as data do, but has no memory. A launch
 * cannot use it. */
FLOTILLA_C_EXPORT flotilla_status flotilla_token_create(flotilla_flow flow, char const* label,
                                                        flotilla_data* made);

/** Destroys data, a tile or a token. If the data were made from memory of the host, copies the newest
 * contents to it first (flotilla_data_set_write_back). Tasks that were submitted before still use the
 * data. A runtime cannot be destroyed while data of its flows exist.
 * Blocks: until the contents are copied, and until the tasks and copies have ended that use pageable
 * memory of the program; otherwise never. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_destroy(flotilla_data data);

/** Divides data into disjoint tiles, each of which is data of its own. Tiles at the end of a
 * dimension are smaller if the extents are not multiples of the tile. While a tile exists, the whole
 * data cannot be used. After the last tile was destroyed, the next use of the data joins them.
 * On the device that has the data, the rows of a tile are as far apart as those of the data, so a
 * kernel needs a view instead of a pointer.
 * @param tile   The shape of a tile, with the rank and the size of objects that the data have.
 * @param tiles  Gets the tiles in row-major order.
 * @param count  The number of elements of `tiles`, which must be the number of tiles.
 * @return FLOTILLA_INVALID_ARGUMENT  Also if tiles of the data exist, or for a token. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_divide(flotilla_data data,
                                                       flotilla_shape_of_data tile,
                                                       flotilla_data* tiles, size_t count);

/** Objects in memory. A kernel can have a `flotilla::view` of the same rank as its parameter. */
typedef struct flotilla_view {
  void* data;         /**< the first object */
  size_t pitch;       /**< the distance between neighbouring rows, in objects */
  size_t plane_pitch; /**< the distance between neighbouring planes, in objects; 0 if rank < 3 */
  size_t extents[3];  /**< the number of objects in each dimension; 0 beyond the rank */
  unsigned rank;      /**< 1 to 3 */
} flotilla_view;

/** Waits until the copy on the host is valid. Copies the data if necessary.
 * @param change  0: the program only reads the objects. Otherwise it may change them, and may give
 *                the data their first contents; all other copies become invalid.
 * @param view    Gets where the objects are. They may be used until the next task that writes the
 *                data, or with `change` the next task that uses them, is submitted, and until the
 *                data are destroyed.
 * @return FLOTILLA_INVALID_ARGUMENT   No task has written the data, or they are a token.
 *         FLOTILLA_DEPENDENCY_FAILED  The data are lost, because the task that should have written
 *                                     them failed. A later task that writes all of them heals them.
 *         FLOTILLA_WOULD_DEADLOCK     and the errors of flotilla_submit_launch
 * Blocks: as flotilla_ticket_wait does. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_to_host(flotilla_data data, int change,
                                                        flotilla_view* view);

enum { FLOTILLA_HOST = -2 };

/** Says whether the end of data copies the newest contents to the memory of the host from which they
 * were made, and waits for that. It does, unless `on` is 0. Has no effect on other data.
 * @return FLOTILLA_INVALID_ARGUMENT  The data are a token.
 * Blocks: never. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_set_write_back(flotilla_data data, int on);

/** Starts to copy data to a place, if the copy there is not valid. Does not wait for the copy.
 * @param place  A device, or FLOTILLA_HOST. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_prefetch(flotilla_data data, int place);

/** Gets whether the copy at a place is valid, or will be after the submitted tasks.
 * @param place  A device, or FLOTILLA_HOST. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_is_valid_at(flotilla_data data, int place,
                                                            int* valid);

FLOTILLA_C_END

#endif
