"""`Mistake`, the root of all errors that a user can mend, and errors in one line.

Scripts show a `Mistake` as one line and end with exit code 2. Any other exception is a bug of the
program and keeps its traceback. A library's own error about a file is caught where the file is
read and becomes a `Mistake` there.
"""


class Mistake(ValueError):
    """A value, file or setting that can't be used. The message says what, where and what to do."""


def first_line(error: BaseException) -> str:
    """Return the first line of the message, or the name of the error's class if it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
