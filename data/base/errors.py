"""An error in one line, for messages that say why something could not be read."""


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
