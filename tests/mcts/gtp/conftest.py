"""What the tests of GTP share."""

import pytest

from tests.support.gtp_talk import Talk


@pytest.fixture
def talk() -> Talk:
    return Talk()
