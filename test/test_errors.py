# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Words of errors: whatever names hold, a sentence shows it, stays short and is one sentence."""

import argparse
import ast

from hypothesis import example, given, strategies as st
import pytest

from transmission_bridge.description.specs import Finding
from transmission_bridge.errors import (
    clipped,
    closest,
    counted,
    describe_unknown_option,
    DescriptionError,
    printable,
    shortened,
    shown,
    TransmissionError,
    UnknownNameError,
)

#: Anything that a string of Python can hold, with what terminals and logs react to.
TEXTS = st.text(st.characters() | st.sampled_from('\x1b\n\r\t\x9b\u202e\u2028\'"\\'))

FORGED = 'a\n[INFO] [0.0] [transmission_bridge]: all is well\x1b[2J'


@given(TEXTS)
@example(FORGED)
@example('x' * 100_000)
def test_shown(name):
    """A name is shown in quotes and escaped; of a long one begin and end, where typos are."""
    text = shown(name)
    assert text.isprintable()
    assert len(text) < 700
    expected = name if len(name) <= 64 else f'{name[:32]}…{name[-32:]}'
    assert ast.literal_eval(text) == expected


def test_shortened():
    """A list for a sentence stays short, however many names there are and however long."""
    assert shortened(['a', 'b']) == "'a', 'b'"
    assert shortened([str(n) for n in range(10_000)]) == "'0', '1', '2', '3', '4' and 9995 more"
    assert len(shortened(['\x1b' * 10**6] * 10**5)) < 1500
    assert shortened(['a (b)'], show=str) == 'a (b)'


JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_pitch', 'wrist_roll', 'j1', 'j2')


@pytest.mark.parametrize(('name', 'found'), [
    ('wrist_rol', " (closest: 'wrist_roll')"),
    ('ELBOW', " (closest: 'elbow')"),
    ('elbwo', " (closest: 'elbow')"),
    ('arm_elbow_joint', " (closest: 'elbow')"),
    ('shoulder', " (closest: 'shoulder_pan', 'shoulder_lift')"),
    ('gripper', ''),
    ('', ''),
])  # fmt: skip
def test_closest(name, found):
    """The hint for a mistyped name lists the closest names, if any are close."""
    assert closest(name, JOINTS) == found
    assert closest(name, ()) == ''


def test_counted():
    """The noun is in the plural unless there is one."""
    assert [counted(n, 'joint') for n in (0, 1, 2)] == ['0 joints', '1 joint', '2 joints']


@pytest.mark.parametrize(('words', 'found'), [
    ('a.urdf --executor auto -h', ''),
    ('--exectuor auto', "unknown option '--exectuor' (closest: '--executor')"),
    ('a.urdf -x --exectuor=auto', "unknown option '-x'"),
    # Two hyphens are no likeness.
    ('--zq', "unknown option '--zq'"),
    # Values: a negative number, a text with a blank, and what follows a lone --.
    ('-1.5 -', ''),
    ('-- --exectuor', ''),
])  # fmt: skip
def test_unknown_options(words, found):
    """The first one is named with the closest that exist."""
    parser = argparse.ArgumentParser()
    for option in ('--executor', '--urdf'):
        parser.add_argument(option)
    assert describe_unknown_option([*words.split(), '-a text'], parser) == found


@given(TEXTS, st.lists(TEXTS, max_size=5))
@example('x' * 10**6, ['x' * 10**6] * 10**5)
def test_closest_is_bounded(name, known):
    """However many names there are and however long, the hint stays short and is one line."""
    hint = closest(name, known)
    assert hint.isprintable()
    assert len(hint) < 2200
    assert bool(name in known) <= bool(hint)


@given(TEXTS)
@example(FORGED)
def test_printable(text):
    """Text becomes one line without control characters; other text is unchanged."""
    assert printable(text).isprintable()
    assert (printable(text) == text) == text.isprintable()


@given(TEXTS, st.integers(50, 200))
@example(FORGED, 50)
@example('\x1b' * 10_000, 100)
def test_clipped(text, most):
    """A text for a log keeps its begin and its end; escapes make it no longer than it may be."""
    result = clipped(text, most)
    assert len(result) <= most + 40
    assert all(line.isprintable() for line in result.split('\n'))
    if len(text) <= most and text.isprintable():
        assert result == text


@pytest.mark.parametrize('make', [
    lambda text: Finding('error', f"joint '{text}'", path=text, expected=text, found=text),
    lambda text: DescriptionError(f"joint '{text}'", path=text, expected=text, found=text),
    lambda text: TransmissionError(f"joint '{text}'", transmission=text, found=text),
    lambda text: UnknownNameError('joint', text, (text, text)),
])  # fmt: skip
@given(text=TEXTS)
@example(text=FORGED)
def test_no_name_forges_a_line(make, text):
    """Names of a description can neither begin a line of the log nor reach the terminal."""
    first, *more = str(make(text)).split('\n')
    assert first.isprintable()
    assert all(line.startswith('  ') and line.isprintable() for line in more)
