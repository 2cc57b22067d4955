/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program in C of docs/manual/recipes/mpi.md. */

#include <stdio.h>
#include <stdlib.h>

#include <flotilla/c/mpi.h>
#include <flotilla/flotilla.h>

enum { tile = 1000, count = 8 };

static void check(flotilla_status status) {
  if (status == FLOTILLA_SUCCESS) { return; }
  fprintf(stderr, "%s\n", flotilla_last_error());
  exit(1); /* the launcher ends the other ranks */
}

static int fill(void* user, flotilla_task_context const* context, flotilla_view const* views) {
  double* const x = (double*)views[0].data;
  size_t i;
  (void)user;
  (void)context; /* null: the task runs on the host */
  for (i = 0; i < views[0].extents[0]; ++i) { x[i] = 1; }
  return 0;
}

int main(int argc, char** argv) {
  int provided, rank, ranks, owners[count], i;
  flotilla_transport via = FLOTILLA_TRANSPORT_INIT;
  flotilla_runtime rt;
  flotilla_cluster all;
  flotilla_flow flow;
  flotilla_data x, tiles[count];
  flotilla_view seen;
  double sum = 0;

  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  check(flotilla_runtime_create(NULL, &rt));
  check(flotilla_mpi(MPI_COMM_WORLD, &via));
  check(flotilla_cluster_create(rt, &via, &all));
  check(flotilla_cluster_rank(all, &rank, &ranks));
  check(flotilla_flow_create_over(all, NULL, &flow));

  check(flotilla_data_create(flow, flotilla_vector(sizeof(double), count * tile), NULL, "x", &x));
  flotilla_blocks(ranks, owners, count);
  check(flotilla_data_divide_among(x, flotilla_vector(sizeof(double), tile), owners, tiles, count));
  for (i = 0; i < count; ++i) { /* each task runs on the owner of the tile */
    flotilla_use const to = flotilla_write(tiles[i]);
    check(flotilla_flow_submit_host(flow, fill, NULL, NULL, &to, 1, NULL, NULL));
  }
  for (i = 0; i < count; ++i) { check(flotilla_data_destroy(tiles[i])); }
  check(flotilla_data_collect(x));
  if (rank == 0) { /* the owner of x */
    check(flotilla_data_to_host(x, 0, &seen));
    for (i = 0; i < count * tile; ++i) { sum += ((double const*)seen.data)[i]; }
    printf("the sum is %g\n", sum);
  }

  check(flotilla_data_destroy(x));
  check(flotilla_flow_destroy(flow));
  check(flotilla_cluster_destroy(all));
  check(flotilla_runtime_destroy(rt));
  MPI_Finalize();
  printf("rank %d done\n", rank);
  return 0;
}
