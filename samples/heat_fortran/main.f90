! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> The heat equation in Fortran: the rows of a square are divided into bands, one for each device. Two
!> steps, with the copies of the edges of the bands, are recorded once and then replayed. With the
!> argument `single-threaded`, the runtime has no threads of its own.
module bands
  use, intrinsic :: iso_c_binding
  use flotilla
  implicit none
  integer(c_int), parameter :: n = 256  ! rows and columns inside the fixed edge
  integer(c_size_t), parameter :: row_bytes = n * 8

  !> The rows of one device. The two arrays take turns. They have a row more at each end.
  type :: band
    integer(c_int) :: first_row, rows
    type(flotilla_buffer) :: arrays(0:1)
  end type

  interface
    function image() result(address) bind(c, name='heat_fortran_kernels_for_fortran')
      import :: c_ptr
      type(c_ptr) :: address
    end function
  end interface
contains
  !> Ends the program if a call failed.
  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == flotilla_success) return
    print '(a)', flotilla_error_text()
    error stop 1
  end subroutine

  subroutine wait_for(ticket)
    type(flotilla_ticket), intent(in) :: ticket
    call check(flotilla_ticket_wait(ticket))
    call check(flotilla_ticket_release(ticket))
  end subroutine

  !> Divides the rows among the devices, and copies the start values to both arrays of each band.
  subroutine make_bands(rt, values, parts)
    type(flotilla_runtime), intent(in) :: rt
    real(c_double), intent(in), target :: values(n, 0:n + 1)
    type(band), intent(inout) :: parts(0:)
    type(flotilla_ticket) :: done
    integer(c_size_t) :: bytes
    integer(c_int) :: d, i
    do d = 0, size(parts) - 1
      parts(d)%first_row = 1 + d * n / size(parts)
      parts(d)%rows = 1 + (d + 1) * n / size(parts) - parts(d)%first_row
      bytes = (parts(d)%rows + 2) * row_bytes
      do i = 0, 1
        call check(flotilla_device_alloc(rt, d, bytes, parts(d)%arrays(i)))
        call check(flotilla_submit_copy(flotilla_in_buffer(parts(d)%arrays(i)), &
          flotilla_on_host(c_loc(values(1, parts(d)%first_row - 1))), bytes, ticket=done))
        call wait_for(done)
      end do
    end do
  end subroutine

  !> Records two steps.
  subroutine record(recording, kernel, parts)
    type(flotilla_recording), intent(in) :: recording
    type(flotilla_kernel), intent(in) :: kernel
    type(band), intent(in), target :: parts(0:)
    ! The tasks of the step before. Each task waits for all of them. That is simpler than to wait for
    ! those of the neighbours.
    integer(c_size_t), target :: last(3 * size(parts))
    integer(c_size_t) :: tasks(3 * size(parts))
    integer(c_int), target :: columns
    integer :: step, d, count, before
    type(flotilla_argument) :: arguments(4)
    columns = n
    before = 0
    do step = 0, 1
      count = 0
      do d = 0, size(parts) - 2  ! the edges between band d and band d + 1
        associate (upper => parts(d), lower => parts(d + 1))
          call check(flotilla_record_copy(recording, flotilla_in_buffer(lower%arrays(step)), &
            flotilla_in_buffer(upper%arrays(step), upper%rows * row_bytes), row_bytes, &
            flotilla_after(last(:before)), tasks(count + 1)))
          call check(flotilla_record_copy(recording, &
            flotilla_in_buffer(upper%arrays(step), (upper%rows + 1) * row_bytes), &
            flotilla_in_buffer(lower%arrays(step), row_bytes), row_bytes, &
            flotilla_after(last(:before)), tasks(count + 2)))
        end associate
        count = count + 2
      end do
      last(before + 1:before + count) = tasks(:count)
      before = before + count
      count = 0
      do d = 0, size(parts) - 1
        arguments = [flotilla_address(parts(d)%arrays(step)), flotilla_address(parts(d)%arrays(1 - step)), &
          flotilla_value(columns), flotilla_value(parts(d)%rows)]
        count = count + 1
        call check(flotilla_record_launch(recording, kernel, rows_of(parts(d)), arguments, 4_c_size_t, &
          flotilla_after(last(:before)), tasks(count)))
      end do
      last(:count) = tasks(:count)
      before = count
    end do
  end subroutine

  pure function rows_of(one) result(shape)
    type(band), intent(in) :: one
    type(flotilla_shape) :: shape
    shape = flotilla_over(n, 128)
    shape%grid(2) = one%rows
  end function

  !> The same on the host.
  subroutine compute(values, steps)
    real(c_double), intent(inout) :: values(n, 0:n + 1)
    integer, intent(in) :: steps
    real(c_double), allocatable :: old(:, :)
    integer :: i
    allocate(old(n, 0:n + 1))
    do i = 1, steps
      old = values
      values(2:n - 1, 1:n) = old(2:n - 1, 1:n) + 0.2_c_double * (old(1:n - 2, 1:n) + old(3:n, 1:n) &
        + old(2:n - 1, 0:n - 1) + old(2:n - 1, 2:n + 1) - 4 * old(2:n - 1, 1:n))
    end do
  end subroutine
end module

program heat_fortran
  use bands
  implicit none
  integer, parameter :: steps = 200
  real(c_double), allocatable, target :: values(:, :), expected(:, :)
  type(flotilla_runtime_options) :: options
  type(flotilla_runtime) :: rt
  type(flotilla_program) :: kernels
  type(flotilla_kernel) :: kernel
  type(flotilla_recording) :: two_steps
  type(flotilla_ticket) :: done, replays(steps / 2)
  type(band), allocatable, target :: parts(:)
  integer(c_int) :: devices, d
  integer :: i
  character(len=16) :: mode
  call get_command_argument(1, mode)
  if (mode == 'single-threaded') options%workers = 0

  call check(flotilla_runtime_create(options, rt))  ! all GPUs, or CPU devices if there is no GPU
  call check(flotilla_load(rt, image(), kernels))
  call check(flotilla_program_kernel(kernels, 'heat_step' // c_null_char, kernel))
  call check(flotilla_device_count(rt, devices))

  allocate(values(n, 0:n + 1), parts(0:devices - 1))
  values = 0
  values(:, 0) = 100  ! the upper edge is hot
  expected = values
  call make_bands(rt, values, parts)
  call check(flotilla_recording_create(rt, two_steps))
  call record(two_steps, kernel, parts)
  do i = 1, steps / 2
    call check(flotilla_recording_replay(two_steps, ticket=replays(i)))
  end do
  do i = 1, size(replays)
    call wait_for(replays(i))
  end do

  do d = 0, devices - 1
    call check(flotilla_submit_copy(flotilla_on_host(c_loc(values(1, parts(d)%first_row))), &
      flotilla_in_buffer(parts(d)%arrays(0), row_bytes), parts(d)%rows * row_bytes, ticket=done))
    call wait_for(done)
  end do
  call compute(expected, steps)
  if (maxval(abs(values - expected)) > 1e-9_c_double) error stop 'the values are wrong'

  call check(flotilla_recording_destroy(two_steps))
  do d = 0, devices - 1
    do i = 0, 1
      call check(flotilla_buffer_free(parts(d)%arrays(i)))
    end do
  end do
  call check(flotilla_runtime_destroy(rt))
  print '(a,i0,a,es8.1)', 'heat on ', devices, ' devices: the largest difference is ', &
    maxval(abs(values - expected))
end program
