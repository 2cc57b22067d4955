! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!
! A program in Fortran over the ranks of an MPI.
module tasks
  use, intrinsic :: iso_c_binding
  use flotilla
  implicit none
contains
  !> data = 1
  recursive function set_one(user, context, views) result(code) bind(c)
    type(c_ptr), value :: user, context
    type(flotilla_view), intent(in) :: views(1)
    integer(c_int) :: code
    real(c_double), pointer :: to(:)
    call c_f_pointer(views(1)%data, to, views(1)%extents(1:1))
    to = 1
    code = 0
  end function

  !> data = data * 2 + 1
  recursive function double_and_one(user, context, views) result(code) bind(c)
    type(c_ptr), value :: user, context
    type(flotilla_view), intent(in) :: views(1)
    integer(c_int) :: code
    real(c_double), pointer :: to(:)
    call c_f_pointer(views(1)%data, to, views(1)%extents(1:1))
    to = to * 2 + 1
    code = 0
  end function

  !> to = to + from
  recursive subroutine add(to, from, count) bind(c)
    integer(c_size_t), value :: count
    real(c_double), intent(inout) :: to(count)
    real(c_double), intent(in) :: from(count)
    to = to + from
  end subroutine

  !> The program's own MPI.
  recursive function sum_of_ranks(user) result(code) bind(c)
    use mpi
    type(c_ptr), value :: user
    integer(c_int) :: code
    integer, pointer :: value
    integer :: mine, error
    call c_f_pointer(user, value)
    mine = value
    call MPI_Allreduce(mine, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    code = error
  end function
end module

program fortran_test
  use, intrinsic :: iso_c_binding
  use mpi
  use flotilla
  use tasks
  implicit none
  integer(c_size_t), parameter :: width = 50
  integer(c_size_t) :: count, i
  integer :: error, provided
  integer(c_int) :: rank, ranks, owner
  integer, target :: total
  real(c_double), target :: zero = 0
  real(c_double), pointer :: seen(:)
  character(len=256) :: devices
  type(flotilla_transport) :: via
  type(flotilla_runtime) :: rt
  type(flotilla_cluster) :: all_ranks
  type(flotilla_flow) :: flow
  type(flotilla_data) :: x, sums
  type(flotilla_data), allocatable :: tiles(:)
  type(flotilla_reduction), target :: addition
  type(flotilla_task_options) :: next
  type(flotilla_view) :: view

  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call expect(flotilla_mpi(MPI_COMM_NULL, via) == flotilla_invalid_argument, 'a null communicator')
  call expect(index(flotilla_error_text(), 'MPI_COMM_NULL') > 0, 'the text of the error')
  devices = 'unchanged'
  call ok(flotilla_mpi_share_devices(MPI_COMM_WORLD, devices, len(devices, c_size_t)))
  call expect(devices(1:1) == c_null_char, 'no choice, because FLOTILLA_DEVICES is set')
  call ok(flotilla_runtime_create(made=rt))
  ! recipe: a cluster in Fortran
  call ok(flotilla_mpi(MPI_COMM_WORLD, via))
  call ok(flotilla_cluster_create(rt, via, all_ranks))
  call ok(flotilla_cluster_rank(all_ranks, rank, ranks))
  call ok(flotilla_flow_create_over(all_ranks, made=flow))
  ! end

  ! Each rank fills its tiles. The next rank changes them, and rank 0 gets all.
  count = 3 * ranks
  allocate(tiles(count))
  call ok(flotilla_data_create(flow, flotilla_vector(c_sizeof(zero), count * width), &
    label='x' // c_null_char, made=x))
  call ok(flotilla_data_divide_among(x, flotilla_vector(c_sizeof(zero), width), &
    flotilla_blocks(ranks, count), tiles, count))
  do i = 1, count
    call ok(flotilla_data_owner(tiles(i), owner))
    call expect(owner == (i - 1) / 3, 'the owner of a tile')
    call ok(flotilla_flow_submit_host(flow, c_funloc(set_one), c_null_ptr, c_null_funptr, &
      [flotilla_write(tiles(i))], 1_c_size_t))
    next%rank = mod(owner + 1, ranks)
    call ok(flotilla_flow_submit_host(flow, c_funloc(double_and_one), c_null_ptr, c_null_funptr, &
      [flotilla_update(tiles(i))], 1_c_size_t, next))
  end do
  do i = 1, count
    call ok(flotilla_data_destroy(tiles(i)))
  end do
  call ok(flotilla_data_collect(x))
  if (rank == 0) then
    call ok(flotilla_data_to_host(x, 0, view))
    call c_f_pointer(view%data, seen, view%extents(1:1))
    call expect(size(seen) == count * width .and. all(seen == 3), 'the contents of the tiles')
  end if

  ! All ranks add to the same data.
  addition%identity = c_loc(zero)
  addition%combine = c_funloc(add)
  call ok(flotilla_data_create(flow, flotilla_vector(c_sizeof(zero), width), made=sums))
  call ok(flotilla_flow_submit_host(flow, c_funloc(set_one), c_null_ptr, c_null_funptr, &
    [flotilla_write(sums)], 1_c_size_t))
  do owner = 0, ranks - 1
    next%rank = owner
    call ok(flotilla_flow_submit_host(flow, c_funloc(double_and_one), c_null_ptr, c_null_funptr, &
      [flotilla_reduce(sums, addition)], 1_c_size_t, next))
  end do
  if (rank == 0) then
    call ok(flotilla_data_to_host(sums, 0, view))
    call c_f_pointer(view%data, seen, view%extents(1:1))
    call expect(all(seen == 1 + ranks), 'the sum of the contributions')
  end if

  total = rank
  call ok(flotilla_cluster_wait_idle(all_ranks))
  call ok(flotilla_cluster_exclusive(all_ranks, c_funloc(sum_of_ranks), c_loc(total)))
  call expect(total == ranks * (ranks - 1) / 2, 'the sum of the ranks')
  call expect(all(flotilla_cyclic(2, 5_c_size_t) == [0, 1, 0, 1, 0]), 'cyclic owners')

  call ok(flotilla_data_destroy(x))
  call ok(flotilla_data_destroy(sums))
  call ok(flotilla_flow_destroy(flow))
  call ok(flotilla_cluster_destroy(all_ranks))
  call ok(flotilla_runtime_destroy(rt))
  call MPI_Finalize(error)
  print '(a, i0, a)', 'rank ', rank, ' done'
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print '(2a)', 'failed: ', what
    error stop 1  ! the launcher ends the other ranks
  end subroutine

  subroutine ok(status)
    integer(c_int), intent(in) :: status
    if (status /= flotilla_success) call expect(.false., flotilla_error_text())
  end subroutine
end program
