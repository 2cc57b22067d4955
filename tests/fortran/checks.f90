! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!> Checks that count their failures.
module checks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use flotilla
  implicit none
  private
  integer :: failures = 0
  public :: expect, ok, fails, finish_checks
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, '(2a)') 'failed: ', what
  end subroutine

  !> Expects that a call succeeded.
  subroutine ok(status, call)
    integer(c_int), intent(in) :: status
    character(len=*), intent(in) :: call
    if (status /= flotilla_success) call expect(.false., call // ': ' // flotilla_error_text())
  end subroutine

  !> Expects that a call failed with a status, and that the text of the error contains `word`.
  subroutine fails(status, expected, word, call)
    integer(c_int), intent(in) :: status, expected
    character(len=*), intent(in) :: word, call
    character(len=:), allocatable :: text
    text = ''
    if (status /= flotilla_success) text = flotilla_error_text()
    call expect(status == expected .and. index(text, word) > 0, call // ' returned ' // &
      flotilla_text(flotilla_status_name(status)) // ': ' // text)
  end subroutine

  !> Ends the program, with an error if a check failed.
  subroutine finish_checks
    if (failures > 0) error stop 'checks failed'
    print '(a)', 'all checks passed'
  end subroutine
end module
