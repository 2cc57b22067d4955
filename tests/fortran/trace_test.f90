! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> Traces in Fortran. The tests in tests/trace check what is in the files.
module trace_tests
  use, intrinsic :: iso_c_binding
  use flotilla
  use checks
  implicit none
  private
  public :: traces
contains
  integer(c_int) function do_nothing(user, context) bind(c) result(code)
    type(c_ptr), value :: user
    type(flotilla_task_context), intent(in) :: context
    code = merge(9, 0, c_associated(user) .or. context%device < 0)
  end function

  !> requirement: a trace has the tasks between its begin and its end; the default sizes are right
  !> @param mode  A part of the name of the file, because two of these programs may run at a time.
  subroutine traces(rt, mode)
    type(flotilla_runtime), intent(in) :: rt
    character(len=*), intent(in) :: mode
    character(len=60), target :: file
    character(len=:), allocatable :: name
    type(flotilla_trace_options) :: options
    type(flotilla_trace_summary) :: summary
    type(flotilla_reduction) :: reduction
    type(flotilla_trace) :: trace
    integer :: i, bytes
    call expect(c_sizeof(options) == options%size, 'size of flotilla_trace_options')
    call expect(c_sizeof(summary) == summary%size, 'size of flotilla_trace_summary')
    call expect(c_sizeof(reduction) == reduction%size, 'size of flotilla_reduction')
    name = 'trace_of_fortran_' // mode // '.pftrace'
    file = name // c_null_char
    call fails(flotilla_trace_begin(rt, options, trace), flotilla_invalid_argument, 'options->file', &
      'trace without a file')
    options%file = c_loc(file)
    call ok(flotilla_trace_begin(rt, options, trace), 'trace_begin')
    do i = 1, 5
      call ok(flotilla_submit_function(rt, c_funloc(do_nothing), c_null_ptr, c_null_funptr), 'submit')
    end do
    call ok(flotilla_wait_idle(rt), 'wait_idle')
    call ok(flotilla_trace_end(trace, summary), 'trace_end')
    call expect(summary%tasks == 5, 'the trace has five tasks')
    inquire (file=name, size=bytes)
    call expect(summary%bytes == bytes, 'the summary has the size of the file')
    call fails(flotilla_trace_end(trace), flotilla_invalid_handle, 'any more', 'second end')
  end subroutine
end module
