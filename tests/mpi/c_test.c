/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program in C over the ranks of an MPI. tests/c_api has more cases, without MPI. */

#include <flotilla/c/mpi.h>
#include <flotilla/flotilla.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { width = 100, tiles_of_a_rank = 3, max_tiles = 64 };

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("line %d: not true: %s (%s)\n", __LINE__, #condition, flotilla_last_error()); \
      exit(1); /* the launcher ends the other ranks */                                     \
    }                                                                                      \
  } while (0)
#define OK(call) CHECK((call) == FLOTILLA_SUCCESS)

static void refuses(MPI_Comm communicator, char const* why) {
  flotilla_transport via = FLOTILLA_TRANSPORT_INIT;
  CHECK(flotilla_mpi(communicator, &via) == FLOTILLA_INVALID_ARGUMENT);
  CHECK(strstr(flotilla_last_error(), why) != NULL);
  CHECK(via.isend == NULL);
}

/** data[i] = rank * 1000 + i */
static int number(void* user, flotilla_task_context const* context, flotilla_view const* views) {
  int* const to = (int*)views[0].data;
  size_t i;
  (void)context;
  for (i = 0; i < views[0].extents[0]; ++i) { to[i] = *(int*)user * 1000 + (int)i; }
  return 0;
}

/** data[i] += 1 */
static int add_one(void* user, flotilla_task_context const* context, flotilla_view const* views) {
  int* const to = (int*)views[0].data;
  size_t i;
  (void)user;
  (void)context;
  for (i = 0; i < views[0].extents[0]; ++i) { to[i] += 1; }
  return 0;
}

static int fail(void* user, flotilla_task_context const* context, flotilla_view const* views) {
  (void)user;
  (void)context;
  (void)views;
  return 42;
}

static int nothing(void* user, flotilla_task_context const* context, flotilla_view const* views) {
  (void)user;
  (void)context;
  (void)views;
  return 0;
}

/** Each rank fills its own tiles. Then rank 0 gets all of them. */
static void test_tiles(flotilla_cluster all, flotilla_flow flow) {
  int rank = -1, ranks = -1, i;
  int owners[max_tiles];
  flotilla_data data, tiles[max_tiles];
  OK(flotilla_cluster_rank(all, &rank, &ranks));
  size_t const count = (size_t)(ranks * tiles_of_a_rank);
  flotilla_blocks(ranks, owners, count);
  OK(flotilla_data_create(flow, flotilla_vector(sizeof(int), count * width), NULL, "x", &data));
  OK(flotilla_data_divide_among(data, flotilla_vector(sizeof(int), width), owners, tiles, count));
  for (i = 0; i < (int)count; ++i) {
    flotilla_use const to = flotilla_write(tiles[i]), again = flotilla_update(tiles[i]);
    flotilla_task_options next = FLOTILLA_TASK_OPTIONS_INIT;
    int owner = -1;
    OK(flotilla_data_owner(tiles[i], &owner));
    CHECK(owner == i / tiles_of_a_rank);
    OK(flotilla_flow_submit_host(flow, number, &rank, NULL, &to, 1, NULL, NULL));
    next.rank = (owner + 1) % ranks;
    OK(flotilla_flow_submit_host(flow, add_one, NULL, NULL, &again, 1, &next, NULL));
  }
  for (i = 0; i < (int)count; ++i) { OK(flotilla_data_destroy(tiles[i])); }
  OK(flotilla_data_collect(data));
  if (rank == 0) {
    flotilla_view seen;
    OK(flotilla_data_to_host(data, 0, &seen));
    for (i = 0; i < (int)count * width; ++i) {
      CHECK(((int const*)seen.data)[i] == i / width / tiles_of_a_rank * 1000 + i % width + 1);
    }
  }
  OK(flotilla_cluster_wait_idle(all)); /* `rank` must exist until the tasks have ended */
  OK(flotilla_data_destroy(data));
}

/** The program's own MPI. */
static int sum(void* user) {
  int* const value = (int*)user;
  int const mine = *value;
  return MPI_Allreduce(&mine, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : 1;
}

static void test_own_calls(flotilla_cluster all) {
  int value = 0, ranks = 0;
  OK(flotilla_cluster_rank(all, &value, &ranks));
  OK(flotilla_cluster_wait_idle(all));
  OK(flotilla_cluster_exclusive(all, sum, &value));
  CHECK(value == ranks * (ranks - 1) / 2);
  OK(flotilla_cluster_wait_idle(all));
}

/** A task that fails on rank 0. */
static void test_failed_task(flotilla_cluster all, flotilla_flow flow) {
  int rank = -1;
  flotilla_data data;
  flotilla_use use;
  flotilla_ticket failed, reader;
  flotilla_task_options on_1 = FLOTILLA_TASK_OPTIONS_INIT;
  flotilla_error_details details = FLOTILLA_ERROR_DETAILS_INIT;
  OK(flotilla_cluster_rank(all, &rank, NULL));
  OK(flotilla_data_create(flow, flotilla_vector(1, 10), NULL, "x", &data));
  use = flotilla_write(data);
  OK(flotilla_flow_submit_host(flow, fail, NULL, NULL, &use, 1, NULL, &failed));
  use = flotilla_read(data);
  on_1.rank = 1;
  OK(flotilla_flow_submit_host(flow, nothing, NULL, NULL, &use, 1, &on_1, &reader));
  CHECK((failed.id != 0) == (rank == 0) && (reader.id != 0) == (rank == 1));
  if (rank == 0) {
    CHECK(flotilla_ticket_wait(failed) == FLOTILLA_TASK_FAILED);
    OK(flotilla_ticket_release(failed));
  }
  if (rank == 1) {
    CHECK(flotilla_ticket_wait(reader) == FLOTILLA_DEPENDENCY_FAILED);
    CHECK(strstr(flotilla_last_error(), "rank 0: ") != NULL);
    OK(flotilla_last_error_details(&details));
    CHECK(details.first_cause == FLOTILLA_REMOTE_ERROR && details.code == 0);
    OK(flotilla_ticket_release(reader));
  }
  OK(flotilla_data_destroy(data));
}

static void test_cluster(flotilla_runtime rt, flotilla_transport via) {
  flotilla_cluster all;
  flotilla_flow flow;
  OK(flotilla_cluster_create(rt, &via, &all));
  OK(flotilla_flow_create_over(all, NULL, &flow));
  test_tiles(all, flow);
  test_own_calls(all);
  test_failed_task(all, flow);
  CHECK(flotilla_cluster_destroy(all) == FLOTILLA_STILL_USED);
  OK(flotilla_flow_destroy(flow));
  CHECK(flotilla_runtime_destroy(rt) == FLOTILLA_STILL_USED);
  OK(flotilla_cluster_destroy(all));
}

int main(int argc, char** argv) {
  int provided = 0, rank = -1;
  MPI_Fint world;
  char devices[64];
  flotilla_runtime rt;
  flotilla_transport via = FLOTILLA_TRANSPORT_INIT;
  refuses(MPI_COMM_WORLD, "not initialized");
  world = 0;
  CHECK(flotilla_mpi_f(&world, &via) == FLOTILLA_INVALID_ARGUMENT);

  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  world = MPI_Comm_c2f(MPI_COMM_WORLD);
  refuses(MPI_COMM_NULL, "MPI_COMM_NULL");
  CHECK(flotilla_mpi_f(NULL, &via) == FLOTILLA_INVALID_ARGUMENT);
  CHECK(flotilla_mpi(MPI_COMM_WORLD, NULL) == FLOTILLA_INVALID_ARGUMENT);
  CHECK(strstr(flotilla_last_error(), "'made' is null") != NULL);

  OK(flotilla_mpi_share_devices(MPI_COMM_WORLD, devices, sizeof devices));
  CHECK(devices[0] == '\0');  // because FLOTILLA_DEVICES is set
  OK(flotilla_mpi_share_devices_f(&world, devices, sizeof devices));
  CHECK(flotilla_mpi_share_devices(MPI_COMM_NULL, devices, sizeof devices) ==
        FLOTILLA_INVALID_ARGUMENT);
  CHECK(flotilla_mpi_share_devices(MPI_COMM_WORLD, NULL, 0) == FLOTILLA_INVALID_ARGUMENT);
  CHECK(strstr(flotilla_last_error(), "'devices' is null") != NULL);
  CHECK(flotilla_mpi_share_devices(MPI_COMM_WORLD, devices, 0) == FLOTILLA_INVALID_ARGUMENT);
  CHECK(strstr(flotilla_last_error(), "needs 1 bytes") != NULL);

  OK(flotilla_runtime_create(NULL, &rt));
  OK(flotilla_mpi(MPI_COMM_WORLD, &via));
  CHECK(via.rank == rank && via.library[0] != '\0' && via.threads == FLOTILLA_TRANSPORT_SERIALIZED);
  test_cluster(rt, via);
  OK(flotilla_mpi_f(&world, &via));
  test_cluster(rt, via);
  OK(flotilla_runtime_destroy(rt));

  MPI_Finalize();
  refuses(MPI_COMM_WORLD, "finalized");
  printf("rank %d done\n", rank);
  return 0;
}
