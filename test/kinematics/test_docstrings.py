# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the exported names are complete."""

from __future__ import annotations

from functools import cached_property
import inspect
import re

import pytest

from transmission_bridge import kinematics

#: Arguments that are Python's own rather than the function's.
IGNORED = {'self', 'cls'}


def public_names():
    """Return every exported class and function, with public methods and properties."""
    found = {}
    for name in kinematics.__all__:
        item = found[name] = getattr(kinematics, name)
        if inspect.isclass(item):
            found.update(
                {
                    f'{name}.{member}': value
                    for member, value in vars(item).items()
                    if not member.startswith('_')
                    and (
                        inspect.isroutine(value)
                        or isinstance(value, (property, cached_property, classmethod))
                    )
                }
            )
    return found


NAMES = public_names()


def unwrapped(item):
    """Return the function behind a property or a class method."""
    if isinstance(item, cached_property):
        return item.func
    if isinstance(item, property):
        return item.fget
    return item.__func__ if isinstance(item, classmethod) else item


@pytest.mark.parametrize('name', NAMES)
def test_a_docstring_says_parameters_results_and_errors(name):
    """Arrays come with shape and unit, and an error that the body raises is announced."""
    item = unwrapped(NAMES[name])
    text = inspect.getdoc(item) or ''
    assert text.strip(), name
    if inspect.isclass(item):
        return
    raised = set(re.findall(r'^\s+raise (\w+Error)', inspect.getsource(item), re.MULTILINE))
    assert raised <= set(re.findall(r':raises (\w+):', text))
    signature = inspect.signature(item)
    returns = signature.return_annotation
    if returns == 'Array':
        assert re.search(r'[Ss]hape|same shape|``\([^)]*\)``|as in', text), name
        assert re.search(r'\[[^\]]*\b(m|rad|N|s|kg)\b|unit|rotation|identity|empty matrix', text)
    if not isinstance(NAMES[name], (property, cached_property)):
        assert set(re.findall(r':param (\w+):', text)) == set(signature.parameters) - IGNORED
        assert returns == 'None' or ':returns:' in text or text.startswith('Return')
