import pickle

import pytest

from coevo.agents.agent import NoReplyError, Reply, Unanswered, answered


def test_a_reply_is_given_back_and_a_missing_one_says_why():
    reply = Reply("[bet]")
    assert answered(reply) is reply
    with pytest.raises(NoReplyError, match="server down"):
        answered(Unanswered(reason="server down"))


def test_a_missing_reply_is_a_reply_without_text_that_can_be_sent_elsewhere():
    missing = Unanswered(reason="server down")
    assert isinstance(missing, Reply) and missing.text == ""
    assert pickle.loads(pickle.dumps(missing)) == missing != Unanswered(reason="other")
