! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> The log in Fortran.
module log_tests
  use, intrinsic :: iso_c_binding
  use flotilla
  use checks
  implicit none
  private
  public :: log_of_the_process
  !> What the handler got. It needs no lock, because only one task fails, so only one message comes.
  type :: kept_message
    integer(c_int) :: count = 0, level = -1
    logical :: has_size = .false., is_of_task = .false.
  end type
contains
  recursive subroutine keep(user, message) bind(c)
    type(c_ptr), value :: user
    type(flotilla_log_message), intent(in) :: message
    type(kept_message), pointer :: kept
    call c_f_pointer(user, kept)
    kept%level = message%level
    kept%has_size = message%size == c_sizeof(message)
    kept%is_of_task = index(flotilla_text(message%text), 'a posted task failed') == 1
    kept%count = kept%count + 1
  end subroutine

  recursive function fail(user, context) result(code) bind(c)
    type(c_ptr), value :: user
    type(flotilla_task_context), intent(in) :: context
    integer(c_int) :: code
    code = merge(9, 8, c_associated(user) .or. context%device < 0)
  end function

  !> requirement: the level can be read and set, and a procedure gets the messages
  subroutine log_of_the_process(rt)
    type(flotilla_runtime), intent(in) :: rt
    type(kept_message), target, save :: kept
    integer(c_int) :: level
    call ok(flotilla_set_log_level(flotilla_log_info), 'set_log_level')
    call ok(flotilla_get_log_level(level), 'get_log_level')
    call expect(level == flotilla_log_info, 'the level is info')
    call fails(flotilla_set_log_level(99), flotilla_invalid_argument, '99', 'set_log_level')
    call fails(flotilla_get_log_level(), flotilla_invalid_argument, 'level', 'get_log_level')
    call ok(flotilla_set_log_handler(c_funloc(keep), c_loc(kept)), 'set_log_handler')
    call ok(flotilla_submit_function(rt, c_funloc(fail), c_null_ptr, c_null_funptr), 'submit_function')
    call ok(flotilla_wait_idle(rt), 'wait_idle')
    call ok(flotilla_set_log_handler(c_null_funptr, c_null_ptr), 'set_log_handler')
    call expect(kept%count == 1, 'one message came')
    call expect(kept%level == flotilla_log_error .and. kept%has_size .and. kept%is_of_task, &
      'the message is the error of the task')
  end subroutine
end module
