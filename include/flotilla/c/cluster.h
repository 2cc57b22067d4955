/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_CLUSTER_H
#define FLOTILLA_C_CLUSTER_H
/** Flows over the ranks of a program that runs as several processes. flotilla/c/mpi.h connects it
 * with MPI. docs/manual/recipes/mpi.md is the introduction. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/data.h>
#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** Which threads may call the functions of a transport. */
typedef enum flotilla_transport_threads {
  FLOTILLA_TRANSPORT_MAIN_ONLY = 0,  /**< the thread that makes the cluster (MPI_THREAD_FUNNELED) */
  FLOTILLA_TRANSPORT_SERIALIZED = 1, /**< any thread, one at a time (MPI_THREAD_SERIALIZED) */
  FLOTILLA_TRANSPORT_MULTIPLE = 2    /**< any threads (MPI_THREAD_MULTIPLE) */
} flotilla_transport_threads;

/** A send or receive that has ended. */
typedef struct flotilla_transport_event {
  int request;  /**< what isend or irecv returned */
  int source;   /**< of a receive: the rank that sent the message */
  size_t bytes; /**< of a receive: the length of the message */
  int status;   /**< 0: success; -1: the receive was cancelled; else see `describe` */
} flotilla_transport_event;

/** How ranks exchange messages. flotilla_mpi fills it from MPI. Most programs only pass it on. The
 * comments of flotilla::transport in <flotilla/cluster/transport.hpp> describe each function. */
typedef struct flotilla_transport {
  size_t size; /**< sizeof(flotilla_transport) */
  void* self;  /**< the first argument of all functions */
  int rank;
  int ranks;
  int world_ranks; /**< of all processes that were started together */
  int local_rank;  /**< among the ranks of this machine */
  int local_ranks;
  uint8_t threads;     /**< a flotilla_transport_threads */
  char const* library; /**< name and version, for error messages; valid until `close` */
  int (*isend)(void* self, void const* data, size_t bytes, int to, int tag, int* request);
  int (*irecv)(void* self, void* data, size_t bytes, int from, int tag, int* request);
  int (*testsome)(void* self, flotilla_transport_event* events, int capacity, int* count);
  int (*cancel)(void* self, int request);
  void (*describe)(void* self, int status, char* text, size_t bytes);
  void (*close)(void* self);
} flotilla_transport;

#define FLOTILLA_TRANSPORT_INIT                                                               \
  { sizeof(flotilla_transport), NULL, 0, 1, 1, 0, 1, FLOTILLA_TRANSPORT_SERIALIZED, "", NULL, \
    NULL, NULL, NULL, NULL, NULL }

/** Connects a runtime with the ranks of the program. Collective: all ranks call it.
 *
 * Every rank must make the same flows, data and tiles, and submit the same tasks, in the same
 * order. Each task runs on one rank: that of flotilla_task_options::rank; else the owner of the
 * first data that it writes, updates or commutes on; else the owner of the first data that it
 * reads; else that of the first data that it reduces; else rank 0. On the other ranks, the call
 * that submits it gives a ticket whose id is 0. flotilla::cluster in <flotilla/cluster/cluster.hpp>
 * says more.
 * @param via  The cluster takes it over, and closes it even if the call fails. Only a transport
 *             without `close`, or whose size is too small, stays open.
 * @return FLOTILLA_INVALID_ARGUMENT  The transport lacks a function, or a launcher has started more
 *                                    processes than it sees, because it belongs to another MPI.
 * Threads   With FLOTILLA_TRANSPORT_MAIN_ONLY, only the thread of this call may wait for tasks of
 *           the cluster, and destroy it. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_create(flotilla_runtime rt,
                                                          flotilla_transport const* via,
                                                          flotilla_cluster* made);

/** Destroys a cluster. Collective. Do so before MPI_Finalize. A runtime cannot be destroyed while
 * one of its clusters exists.
 * @return FLOTILLA_STILL_USED      Its flows or their data exist.
 *         FLOTILLA_WOULD_DEADLOCK  The caller is inside a function of a task, a continuation, or
 *                                  flotilla_cluster_exclusive.
 *         After an error, the cluster exists as before.
 * Blocks: until the tasks of this rank have ended, and all ranks have called this function. After
 *         the failure of a rank, waits at most 10 s for the other ranks. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_destroy(flotilla_cluster cluster);

/** Gets the number of this rank, from 0, and how many ranks there are.
 * @param rank   May be null.
 * @param ranks  May be null. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_rank(flotilla_cluster cluster, int* rank,
                                                        int* ranks);

/** Calls a function while the cluster does not use the transport. Unless it is
 * FLOTILLA_TRANSPORT_MULTIPLE, the program's own calls of MPI must be in such a function. Meanwhile
 * this rank neither sends nor receives for flows. So if the function blocks until other ranks do
 * something, such as MPI_Allreduce, all ranks must call flotilla_cluster_wait_idle before.
 * @param function  Must not call functions for this cluster, and must not wait for its tasks.
 * @return FLOTILLA_TASK_FAILED     `function` returned another number than 0, which is the code of
 *                                  the error.
 *         FLOTILLA_WOULD_DEADLOCK  The caller is inside such a function.
 * Blocks: while another thread uses the transport. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_exclusive(flotilla_cluster cluster,
                                                             int (*function)(void* user),
                                                             void* user);

/** Waits until all tasks of this rank's runtime have ended, and until all ranks have called this
 * function. Then no message of a flow is on the way. Collective.
 * @return FLOTILLA_RANK_FAILED, FLOTILLA_WOULD_DEADLOCK */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_wait_idle(flotilla_cluster cluster);

/** Says that this rank submits no more tasks to flows of the cluster; they are refused from now on.
 * flotilla_cluster_destroy does it, too. Use it if flotilla_cluster_destroy comes much later.
 * @return FLOTILLA_RANK_FAILED, FLOTILLA_WOULD_DEADLOCK
 * Blocks: until the tasks of this rank have ended, which may need other ranks. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_finish(flotilla_cluster cluster);

/** Tells the other ranks that this one has failed, and cannot go on with the same program as they.
 * Their waits return FLOTILLA_RANK_FAILED with this text. Call it before you leave a program early,
 * because otherwise the others wait. Blocks: never. */
FLOTILLA_C_EXPORT flotilla_status flotilla_cluster_fail(flotilla_cluster cluster, char const* why);

/** What a rank has sent and received. */
typedef struct flotilla_cluster_counters {
  size_t size; /**< sizeof(flotilla_cluster_counters) */
  uint64_t messages_sent;
  uint64_t messages_received;
  uint64_t transfers_sent; /**< copies of data; a message can hold many */
  uint64_t transfers_received;
  uint64_t bytes_sent; /**< of data */
  uint64_t bytes_received;
} flotilla_cluster_counters;

#define FLOTILLA_CLUSTER_COUNTERS_INIT \
  { sizeof(flotilla_cluster_counters), 0, 0, 0, 0, 0, 0 }

/** Gets what this rank has sent and received so far. */
FLOTILLA_C_EXPORT flotilla_status
flotilla_cluster_get_counters(flotilla_cluster cluster, flotilla_cluster_counters* counters);

/** Creates a flow over all ranks of a cluster. Collective. Otherwise as flotilla_flow_create. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_create_over(flotilla_cluster cluster,
                                                            flotilla_flow_options const* options,
                                                            flotilla_flow* made);

/** Gets the rank that owns data. The owner always has the contents, and only there can they be
 * copied to the host. New data belong to rank 0. If they are made from memory of the program, every
 * rank must pass memory of this size, and the contents of rank 0 count. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_owner(flotilla_data data, int* rank);

/** Makes another rank the owner of data, which gets their contents. Collective.
 * @return FLOTILLA_INVALID_ARGUMENT  There is no such rank, or the data are divided or a token.
 *         FLOTILLA_RANK_FAILED
 * Blocks: as the submit of a task does. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_set_owner(flotilla_data data, int rank);

/** Makes the owner of data the only rank that has them. Collective. Tiles that were destroyed are
 * brought to the owner, so that it can call flotilla_data_to_host. Copies on other ranks end: their
 * memory serves other data, and if a task reads the data later, they are sent again.
 * @return FLOTILLA_INVALID_ARGUMENT  Tiles exist, or the data are a token.
 *         FLOTILLA_RANK_FAILED
 * Blocks: as the submit of a task does. */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_collect(flotilla_data data);

/** Divides data into tiles that other ranks can own. Collective. Contents that the data have move
 * to the owners of the tiles. After the tiles were destroyed, the next task that uses the whole
 * data, or flotilla_data_collect, brings them back to the owner of the data. Otherwise as
 * flotilla_data_divide.
 * @param owners  The rank of each tile, in row-major order. flotilla_blocks and flotilla_cyclic
 *                make them.
 * @return FLOTILLA_INVALID_ARGUMENT  Also if there is no such rank.
 *         FLOTILLA_RANK_FAILED */
FLOTILLA_C_EXPORT flotilla_status flotilla_data_divide_among(flotilla_data data,
                                                             flotilla_shape_of_data tile,
                                                             int const* owners,
                                                             flotilla_data* tiles, size_t count);

/** Gives tiles that follow each other in row-major order to each rank, about the same number of
 * them.
 * @param owners  Gets the ranks of `count` tiles. */
static inline void flotilla_blocks(int ranks, int* owners, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) { owners[i] = (int)(i * (size_t)ranks / count); }
}

/** Gives the tiles to the ranks in turn, in row-major order.
 * @param owners  Gets the ranks of `count` tiles. */
static inline void flotilla_cyclic(int ranks, int* owners, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) { owners[i] = (int)(i % (size_t)ranks); }
}

FLOTILLA_C_END

#endif
