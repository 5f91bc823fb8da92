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
def test_every_parameter_is_described(name):
    """The docstring has a field for every parameter, and says what a function returns."""
    item = NAMES[name]
    text = inspect.getdoc(unwrapped(item)) or ''
    assert text.strip(), name
    if inspect.isclass(item) or isinstance(item, (property, cached_property)):
        return
    parameters = set(inspect.signature(unwrapped(item)).parameters) - IGNORED
    described = set(re.findall(r':param (\w+):', text))
    assert described == parameters
    returns = inspect.signature(unwrapped(item)).return_annotation
    assert returns == 'None' or ':returns:' in text or text.startswith('Return')


@pytest.mark.parametrize('name', NAMES)
def test_arrays_come_with_shape_and_unit(name):
    """A function that returns an array says its shape, and a unit somewhere."""
    item = unwrapped(NAMES[name])
    if inspect.isclass(item) or inspect.signature(item).return_annotation != 'Array':
        return
    text = inspect.getdoc(item)
    assert re.search(r'[Ss]hape|same shape|``\([^)]*\)``|as in', text), name
    assert re.search(r'\[[^\]]*\b(m|rad|N|s|kg)\b|unit|rotation|identity|empty matrix', text), name


@pytest.mark.parametrize('name', NAMES)
def test_errors_are_announced(name):
    """A function whose own body raises an error announces it."""
    item = unwrapped(NAMES[name])
    if inspect.isclass(item):
        return
    raised = set(re.findall(r'^\s+raise (\w+Error)', inspect.getsource(item), re.MULTILINE))
    announced = set(re.findall(r':raises (\w+):', inspect.getdoc(item)))
    assert raised <= announced
