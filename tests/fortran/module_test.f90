! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> Uses the interface for Fortran. The argument is `workers` or `no_workers`.
module module_tests
  use, intrinsic :: iso_c_binding
  use flotilla
  use checks
  implicit none
  private
  interface
    function kernels() result(image) bind(c, name='test_fortran_kernels_for_fortran')
      import :: c_ptr
      type(c_ptr) :: image
    end function
  end interface
  integer(c_size_t), parameter :: bytes_of_double = 8
  public :: sizes, launches, arguments_of_every_kind, functions, recordings, flows, errors
  public :: kernels
contains
  !> requirement: the default size of each struct is its size
  subroutine sizes
    type(flotilla_error_details) :: details
    type(flotilla_runtime_options) :: runtime
    type(flotilla_device_info) :: device
    type(flotilla_setting) :: setting
    type(flotilla_counters) :: counters
    type(flotilla_image) :: image
    type(flotilla_task_options) :: task
    type(flotilla_recorded_options) :: recorded
    type(flotilla_replay_options) :: replay
    type(flotilla_flow_options) :: flow
    type(flotilla_transport) :: transport
    type(flotilla_cluster_counters) :: moved
    call expect(c_sizeof(flow) == flow%size, 'size of flotilla_flow_options')
    call expect(c_sizeof(transport) == transport%size, 'size of flotilla_transport')
    call expect(c_sizeof(moved) == moved%size, 'size of flotilla_cluster_counters')
    call expect(c_sizeof(details) == details%size, 'size of flotilla_error_details')
    call expect(c_sizeof(runtime) == runtime%size, 'size of flotilla_runtime_options')
    call expect(c_sizeof(device) == device%size, 'size of flotilla_device_info')
    call expect(c_sizeof(setting) == setting%size, 'size of flotilla_setting')
    call expect(c_sizeof(counters) == counters%size, 'size of flotilla_counters')
    call expect(c_sizeof(image) == image%size, 'size of flotilla_image')
    call expect(c_sizeof(task) == task%size, 'size of flotilla_task_options')
    call expect(c_sizeof(recorded) == recorded%size, 'size of flotilla_recorded_options')
    call expect(c_sizeof(replay) == replay%size, 'size of flotilla_replay_options')
  end subroutine

  !> requirement: a chain of a copy, a kernel and a copy computes the right values on each device
  subroutine launches(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    integer(c_int), target :: count = 1000
    real(c_double), target :: factor = 2, values(1000)
    real(c_float), target :: summand = 0.5
    type(flotilla_kernel) :: multiply_add
    type(flotilla_buffer) :: memory
    type(flotilla_argument) :: arguments(4)
    type(flotilla_ticket), target :: done(3)
    integer(c_int) :: device, devices
    integer :: i
    call ok(flotilla_program_kernel(program, 'multiply_add' // c_null_char, multiply_add), 'kernel')
    call ok(flotilla_device_count(rt, devices), 'device_count')
    call expect(devices == 2, 'there are two devices')
    do device = 0, devices - 1
      values = [(real(i, c_double), i = 1, size(values))]
      call ok(flotilla_device_alloc(rt, device, c_sizeof(values), memory), 'device_alloc')
      call ok(flotilla_submit_copy(flotilla_in_buffer(memory), flotilla_on_host(c_loc(values)), &
        c_sizeof(values), ticket=done(1)), 'submit_copy to the device')
      arguments = [flotilla_address(memory), flotilla_value(count), flotilla_value(factor), &
        flotilla_value(summand)]
      call ok(flotilla_submit_launch(multiply_add, flotilla_over(count, 256), arguments, 4_c_size_t, &
        flotilla_after(done(1)), done(2)), 'submit_launch')
      call ok(flotilla_submit_copy(flotilla_on_host(c_loc(values)), flotilla_in_buffer(memory), &
        c_sizeof(values), flotilla_after(done(1:2)), done(3)), 'submit_copy to the host')
      call ok(flotilla_wait_all(done, 3_c_size_t), 'wait_all')
      call expect(all(values == [(2 * i + 0.5_c_double, i = 1, size(values))]), 'values are right')
      do i = 1, size(done)
        call ok(flotilla_ticket_release(done(i)), 'ticket_release')
      end do
      call ok(flotilla_buffer_free(memory), 'buffer_free')
    end do
  end subroutine

  !> requirement: an address and an integer of 8 bytes are arguments, and options name the device
  subroutine arguments_of_every_kind(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    integer(c_int64_t), target :: value = 2_c_int64_t**40 + 5
    integer(c_int64_t), pointer :: words(:)
    type(c_ptr), target :: address
    type(flotilla_kernel) :: write_word
    type(flotilla_buffer) :: pinned
    type(flotilla_task_options) :: options
    type(flotilla_ticket) :: done
    integer(c_int) :: device
    call ok(flotilla_program_kernel(program, 'write_word' // c_null_char, write_word), 'kernel')
    call ok(flotilla_host_alloc(rt, 16_c_size_t, pinned), 'host_alloc')
    call ok(flotilla_buffer_address(pinned, address), 'buffer_address')
    call c_f_pointer(address, words, [2])
    words = 0
    options%device = 1
    call ok(flotilla_submit_launch(write_word, flotilla_over(1, 1), [flotilla_value(address), &
      flotilla_value(value)], 2_c_size_t, options, done), 'submit_launch')
    call ok(flotilla_ticket_device(done, device), 'ticket_device')
    call expect(device == 1, 'the task ran on device 1')
    call ok(flotilla_ticket_wait(done), 'ticket_wait')
    call ok(flotilla_ticket_release(done), 'ticket_release')
    call ok(flotilla_submit_launch(write_word, flotilla_over(1, 1), &
      [flotilla_address(pinned, 8_c_size_t), flotilla_value(value)], 2_c_size_t, ticket=done), 'launch')
    call ok(flotilla_ticket_wait(done), 'ticket_wait')
    call ok(flotilla_ticket_release(done), 'ticket_release')
    call expect(all(words == value), 'both words were written')
    call ok(flotilla_buffer_free(pinned), 'buffer_free')
  end subroutine

  recursive function add_device(user, context) result(code) bind(c)
    type(c_ptr), value :: user
    type(flotilla_task_context), intent(in) :: context
    integer(c_int) :: code
    integer(c_int), pointer :: sum
    call c_f_pointer(user, sum)
    sum = sum + 10 + context%device
    code = merge(0, 7, c_associated(context%stream))
  end function

  recursive function fail_with_code(user, context) result(code) bind(c)
    type(c_ptr), value :: user
    type(flotilla_task_context), intent(in) :: context
    integer(c_int) :: code
    code = merge(9, 0, c_associated(user) .or. context%device >= 0)
  end function

  !> requirement: procedures of Fortran are tasks, and their codes are reported
  subroutine functions(rt)
    type(flotilla_runtime), intent(in) :: rt
    integer(c_int), target :: sum
    type(flotilla_task_options) :: options
    type(flotilla_ticket) :: done
    type(flotilla_error_details) :: details
    sum = 0
    options%device = 1
    call ok(flotilla_submit_function(rt, c_funloc(add_device), c_loc(sum), c_null_funptr, options, &
      done), 'submit_function')
    call ok(flotilla_ticket_wait(done), 'ticket_wait')
    call ok(flotilla_ticket_release(done), 'ticket_release')
    call expect(sum == 11, 'the procedure ran once, on device 1')
    call ok(flotilla_submit_function(rt, c_funloc(fail_with_code), c_null_ptr, c_null_funptr, &
      ticket=done), 'submit_function')
    call fails(flotilla_ticket_wait(done), flotilla_task_failed, '9', 'wait for a failed task')
    call ok(flotilla_last_error_details(details), 'last_error_details')
    call expect(details%code == 9, 'the code of the procedure')
    call ok(flotilla_ticket_release(done), 'ticket_release')
  end subroutine

  !> requirement: recordings are replayed, and `flotilla_after` names tasks of a recording
  subroutine recordings(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    integer(c_int), target :: count = 100
    real(c_double), target :: factor = 3, values(100), zero = 0, one = 1
    real(c_float), target :: summand = 1
    integer(c_size_t), target :: filled, stepped(2), size_of_step
    type(flotilla_kernel) :: multiply_add
    type(flotilla_buffer) :: memory
    type(flotilla_recording) :: step
    type(flotilla_argument) :: arguments(4)
    type(flotilla_ticket) :: done
    integer :: i
    call ok(flotilla_program_kernel(program, 'multiply_add' // c_null_char, multiply_add), 'kernel')
    call ok(flotilla_device_alloc(rt, 1, c_sizeof(values), memory), 'device_alloc')
    call ok(flotilla_recording_create(rt, step), 'recording_create')
    call fails(flotilla_record_fill(step, flotilla_in_buffer(memory), c_loc(one), bytes_of_double, &
      size(values, kind=c_size_t), task=filled), flotilla_invalid_argument, 'pattern', &
      'a fill with a pattern of 8 bytes')
    call ok(flotilla_record_fill(step, flotilla_in_buffer(memory), c_loc(zero), bytes_of_double, &
      size(values, kind=c_size_t), task=filled), 'record_fill')
    arguments = [flotilla_address(memory), flotilla_value(count), flotilla_value(factor), &
      flotilla_value(summand)]
    call ok(flotilla_record_launch(step, multiply_add, flotilla_over(count, 32), arguments, &
      4_c_size_t, flotilla_after(filled), stepped(1)), 'record_launch')
    call ok(flotilla_record_launch(step, multiply_add, flotilla_over(count, 32), arguments, &
      4_c_size_t, flotilla_after(stepped(1:1)), stepped(2)), 'record_launch')
    call ok(flotilla_recording_size(step, size_of_step), 'recording_size')
    call expect(size_of_step == 3 .and. stepped(2) == 2, 'the recording has three tasks')
    do i = 1, 3
      call ok(flotilla_recording_replay(step, ticket=done), 'recording_replay')
      call ok(flotilla_ticket_wait(done), 'ticket_wait')
      call ok(flotilla_ticket_release(done), 'ticket_release')
    end do
    call ok(flotilla_submit_copy(flotilla_on_host(c_loc(values)), flotilla_in_buffer(memory), &
      c_sizeof(values), ticket=done), 'submit_copy')
    call ok(flotilla_ticket_wait(done), 'ticket_wait')
    call ok(flotilla_ticket_release(done), 'ticket_release')
    call expect(all(values == 4), 'the values after a replay')
    call ok(flotilla_recording_destroy(step), 'recording_destroy')
    call ok(flotilla_buffer_free(memory), 'buffer_free')
  end subroutine

  !> requirement: a flow orders tasks by their data, and copies the data between devices and the host
  subroutine flows(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    integer(c_int), target :: count = 6
    integer(c_int) :: device
    real(c_double), target :: factor = 2, matrix(2, 3)
    real(c_double), pointer :: seen(:, :)
    real(c_float), target :: summand = 1
    type(flotilla_kernel) :: multiply_add
    type(flotilla_flow) :: flow
    type(flotilla_data) :: data, none
    type(flotilla_view) :: view
    type(flotilla_task_options) :: options
    integer(c_int) :: valid
    call ok(flotilla_program_kernel(program, 'multiply_add' // c_null_char, multiply_add), 'kernel')
    call ok(flotilla_flow_create(rt, made=flow), 'flow_create')
    matrix = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    call ok(flotilla_data_create(flow, flotilla_matrix(bytes_of_double, 3_c_size_t, 2_c_size_t), &
      flotilla_on_host(c_loc(matrix)), 'matrix' // c_null_char, data), 'data_create')
    do device = 0, 1
      options%device = device
      call ok(flotilla_flow_submit_launch(flow, multiply_add, flotilla_over(count, 32), &
        [flotilla_update(data), flotilla_plain(flotilla_value(count)), &
        flotilla_plain(flotilla_value(factor)), flotilla_plain(flotilla_value(summand))], &
        4_c_size_t, options), 'flow_submit_launch')
    end do
    call ok(flotilla_data_is_valid_at(data, 1, valid), 'data_is_valid_at')
    call expect(valid == 1, 'the data are on device 1')
    call ok(flotilla_data_to_host(data, 0, view), 'data_to_host')
    call expect(view%rank == 2 .and. all(view%extents(1:2) == [3, 2]), 'the extents of the view')
    call c_f_pointer(view%data, seen, view%extents(2:1:-1))
    call expect(all(seen == reshape([7, 11, 15, 19, 23, 27], [2, 3])), 'the values of the data')
    call expect(all(matrix == seen), 'the memory of the program')
    call fails(flotilla_flow_submit_launch(flow, multiply_add, flotilla_over(count, 32), &
      [flotilla_read(none)], 1_c_size_t), flotilla_invalid_argument, 'argument', 'data that are zero')
    call fails(flotilla_data_prefetch(data, -9), flotilla_unknown_device, '-9', 'data_prefetch')
    call ok(flotilla_data_destroy(data), 'data_destroy')
    call ok(flotilla_flow_destroy(flow), 'flow_destroy')
  end subroutine

  !> requirement: bad input is refused with a status and a text, also arguments that are absent
  subroutine errors(rt, program)
    type(flotilla_runtime), intent(in) :: rt
    type(flotilla_program), intent(in) :: program
    type(flotilla_program) :: none
    type(flotilla_kernel) :: kernel
    type(flotilla_buffer) :: memory, zero
    type(flotilla_argument) :: argument
    call fails(flotilla_load(rt, c_null_ptr, none), flotilla_invalid_argument, 'image', 'load null')
    call fails(flotilla_program_kernel(program, 'absent' // c_null_char, kernel), &
      flotilla_unknown_symbol, 'absent', 'an unknown kernel')
    call fails(flotilla_program_kernel(program), flotilla_invalid_argument, 'found', &
      'absent arguments')
    call fails(flotilla_device_alloc(rt, 5, 8_c_size_t, memory), flotilla_unknown_device, '5', &
      'an unknown device')
    call fails(flotilla_buffer_free(zero), flotilla_invalid_handle, 'is zero', 'a zero handle')
    call ok(flotilla_program_kernel(program, 'write_word' // c_null_char, kernel), 'kernel')
    call fails(flotilla_submit_launch(kernel, flotilla_over(1, 1), [argument], 1_c_size_t), &
      flotilla_invalid_handle, 'argument 0', 'an argument without a buffer')
    call fails(flotilla_submit_launch(kernel, flotilla_over(0, 1), count=0_c_size_t), &
      flotilla_invalid_argument, 'write_word', 'an empty grid')
    call fails(flotilla_submit_launch(kernel, flotilla_over(-5, 256), count=0_c_size_t), &
      flotilla_invalid_argument, 'write_word', 'a negative number of threads')
    call expect(flotilla_text(c_null_ptr) == '', 'the text of a null pointer')
  end subroutine
end module

program module_test
  use, intrinsic :: iso_c_binding
  use flotilla
  use checks
  use module_tests
  use trace_tests
  use log_tests
  use bulk_tests
  implicit none
  type(flotilla_runtime_options) :: options
  type(flotilla_runtime) :: rt
  type(flotilla_program) :: program
  character(len=16) :: mode
  call get_command_argument(1, mode)
  if (mode == 'no_workers') options%workers = 0
  call sizes
  call shapes
  call ok(flotilla_runtime_create(options, rt), 'runtime_create')
  call ok(flotilla_load(rt, kernels(), program), 'load')
  call launches(rt, program)
  call bulks(rt, program)
  call arguments_of_every_kind(rt, program)
  call functions(rt)
  call recordings(rt, program)
  call flows(rt, program)
  call errors(rt, program)
  call traces(rt, trim(mode))
  call log_of_the_process(rt)
  call ok(flotilla_runtime_destroy(rt), 'runtime_destroy')
  call finish_checks
end program
