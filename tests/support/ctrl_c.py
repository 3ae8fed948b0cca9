"""Programs that tests stop as who sits before them would: `Popen(..., preexec_fn=hear_ctrl_c)`,
then `send_signal(SIGINT)`.
"""

import signal


def hear_ctrl_c() -> None:
    """Shells start what runs in the background, these tests perhaps, deaf to it, and so would be
    whatever that starts.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
