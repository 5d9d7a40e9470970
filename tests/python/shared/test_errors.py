"""The exceptions are those of the library."""

import pickle
import re

import whorl
from support import ROOT
from whorl import errors


def test_the_tree_of_errors_is_the_headers() -> None:
    header = (ROOT / "include" / "whorl" / "error.h").read_text(encoding="utf-8")
    declared = dict(re.findall(r"WHORL_DECLARE_ERROR\((\w+), (\w+)\);", header))
    assert len(declared) > 15
    for name, parent in declared.items():
        assert getattr(whorl, name).__bases__ == (getattr(whorl, parent),), name
        assert name in whorl.__all__
    assert set(errors.__all__) == {*declared, "Error"}
    assert whorl.Error.__bases__ == (Exception,)
    error = whorl.ShapeError("lost")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is whorl.ShapeError and again.args == error.args
    assert repr(whorl.ShapeError) == "<class 'whorl.ShapeError'>"
