# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the exceptions of tasks without the objects to which their tracebacks refer.

The library keeps the exception of a task as long as the task has a ticket or a successor. The garbage
collector cannot see this reference. So if the exception referred to the ticket, for example in a
local variable of a frame of its traceback, both would stay forever.
"""

import sys
import types

_HAS_GROUPS = sys.version_info >= (3, 11)


def keep(error):
    """Removes the frames from an exception, and returns a copy of it for `copy`.

    The traceback keeps its lines, but has no local variables. Returns the exception itself if it
    cannot be copied.
    """
    for each in _members(error):
        each.__traceback__ = _without_locals(each.__traceback__)
        suppresses = each.__suppress_context__
        each.__cause__ = _copy(each.__cause__)
        each.__context__ = _copy(each.__context__)
        each.__suppress_context__ = suppresses
        if isinstance(each, AttributeError):
            each.obj = None  # the object without the attribute
    try:
        return _copy(error)
    except Exception:
        return error


def copy(kept):
    """Returns a new exception like the one that `keep` returned."""
    return _copy(kept)


def _members(error):
    """The exception, and if it is a group, the exceptions in it."""
    yield error
    if _HAS_GROUPS and isinstance(error, BaseExceptionGroup):  # noqa: F821
        for each in error.exceptions:
            yield from _members(each)


def _copy(error, made=None):
    made = {} if made is None else made  # id of an exception -> its copy; there can be cycles
    if error is None:
        return None
    if id(error) in made:
        return made[id(error)]
    new = made[id(error)] = _new_like(error, made)
    new.__traceback__ = _without_locals(error.__traceback__)
    new.__cause__ = _copy(error.__cause__, made)
    new.__context__ = _copy(error.__context__, made)
    new.__suppress_context__ = error.__suppress_context__
    return new


def _new_like(error, made):
    """Makes an exception with the attributes of another one.

    copy.copy would call __init__, which often makes other `args` of the ones that it gets.
    """
    kind = type(error)
    args = error.args
    if _HAS_GROUPS and isinstance(error, BaseExceptionGroup):  # noqa: F821
        args = (error.message, [_copy(each, made) for each in error.exceptions])
    builtin = next(each for each in kind.__mro__ if each.__module__ == "builtins")
    new = builtin.__new__(kind, *args)
    new.args = error.args
    for base in kind.__mro__:
        for name, member in vars(base).items():  # such as OSError.errno, and those of __slots__
            if isinstance(member, types.MemberDescriptorType) and not name.startswith("__"):
                try:
                    value = member.__get__(error)
                    if value is not None:  # also if there is no value
                        member.__set__(new, value)
                except (AttributeError, TypeError):  # there is no value, or it is read-only
                    pass
    if isinstance(error, AttributeError):
        new.obj = None
    new.__dict__.update(error.__dict__)
    return new


_template = (lambda: (yield)).__code__
_INSTRUCTION = -1  # none, so that no columns are marked
if (3, 11) <= sys.version_info < (3, 13):
    # The interpreter would print an empty line for such an instruction, so it gets one without a
    # position: entries of 8 instructions each, as Objects/locations.md of CPython describes.
    _INSTRUCTION = 0
    _template = _template.replace(co_linetable=b"\xff" * (len(_template.co_code) // 16 + 1))


def _without_locals(traceback):
    """Returns a traceback with the same lines, but with frames that refer to nothing."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    made = None
    for entry in reversed(entries):
        frame = _frame_like(entry.tb_frame)
        made = types.TracebackType(made, frame, _INSTRUCTION, entry.tb_lineno)
    return made


def _frame_like(frame):
    """Returns a frame with the names of another one: that of a generator that has not begun."""
    code = frame.f_code
    names = {
        "co_filename": code.co_filename,
        "co_name": code.co_name,
        "co_firstlineno": code.co_firstlineno,
    }
    if sys.version_info >= (3, 11):
        names["co_qualname"] = code.co_qualname
    # What linecache needs to find the source.
    variables = {
        name: frame.f_globals[name]
        for name in ("__name__", "__loader__", "__spec__")
        if name in frame.f_globals
    }
    return types.FunctionType(_template.replace(**names), variables)().gi_frame
