/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_MPI_H
#define FLOTILLA_C_MPI_H
/** Clusters over MPI. Optional: flotilla/flotilla.h does not include this header, which needs the
 * mpi.h of the program's MPI (3.0 or later). The library contains no MPI, so these functions are
 * not in it: a program compiles them from share/flotilla/mpi/flotilla_mpi.cpp with its own MPI. In
 * CMake, link to flotilla::mpi (docs/manual/recipes/mpi.md). */

#include <mpi.h>
#include <stddef.h>

#include <flotilla/c/cluster.h>
#include <flotilla/c/export.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** Fills a transport for flotilla_cluster_create, over a duplicate of `communicator`. Collective:
 * all ranks of the communicator call it. Give the result to one cluster, which closes it. That must
 * be before MPI_Finalize. `communicator` may be freed before.
 *
 * MPI reports errors of the duplicate to the cluster. MPICH is an exception: it passes the errors
 * of requests to the error handler of MPI_COMM_WORLD, which ends the program unless it is
 * MPI_ERRORS_RETURN.
 * @param made  Gets the transport. After an error, it is not changed.
 * @return FLOTILLA_INVALID_ARGUMENT  MPI is not initialized, or is finalized. The communicator is
 *                                    MPI_COMM_NULL or an inter-communicator. The thread level is
 *                                    MPI_THREAD_SINGLE, or it is MPI_THREAD_FUNNELED and this is
 *                                    not the main thread.
 *         FLOTILLA_OTHER_ERROR       A function of MPI failed. */
FLOTILLA_C_EXPORT flotilla_status flotilla_mpi(MPI_Comm communicator, flotilla_transport* made);

/** Does the same for a communicator of Fortran, or of another language that has only its number. */
FLOTILLA_C_EXPORT flotilla_status flotilla_mpi_f(MPI_Fint const* communicator,
                                                 flotilla_transport* made);

/** Divides the GPUs of each machine among the ranks that run there. Collective: all ranks of the
 * communicator call it, before they make their runtimes. flotilla::share_devices in
 * <flotilla/mpi.hpp> says more.
 * @param devices  Gets the value for flotilla_runtime_options::devices, ended by a zero: such as
 *                 "cuda:0,2". Empty, which means the default, if this rank sees no GPU, or if the
 *                 environment variable FLOTILLA_DEVICES is set.
 * @param bytes    Of `devices`; 256 are enough for 80 GPUs.
 * @return FLOTILLA_INVALID_ARGUMENT  As flotilla_mpi; or the text does not fit.
 *         FLOTILLA_DRIVER_ERROR      Only on the rank whose driver refuses to describe a device.
 *         FLOTILLA_OTHER_ERROR       A function of MPI failed.
 * Blocks: until all ranks of the communicator have called it, and during cuInit. */
FLOTILLA_C_EXPORT flotilla_status flotilla_mpi_share_devices(MPI_Comm communicator, char* devices,
                                                             size_t bytes);

/** Does the same for a communicator of Fortran. */
FLOTILLA_C_EXPORT flotilla_status flotilla_mpi_share_devices_f(MPI_Fint const* communicator,
                                                               char* devices, size_t bytes);

FLOTILLA_C_END

#endif
