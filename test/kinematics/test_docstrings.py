# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the exported names are complete."""

from functools import cached_property
import inspect
import re

import pytest

from transmission_bridge import kinematics

EXPORTED = {name: getattr(kinematics, name) for name in kinematics.__all__}
#: Public methods and properties of the exported classes.
MEMBERS = {
    f'{name}.{member}': value
    for name, item in EXPORTED.items()
    if inspect.isclass(item)
    for member, value in vars(item).items()
    if not member.startswith('_')
    if inspect.isroutine(value) or isinstance(value, (property, cached_property))
}
NAMES = EXPORTED | MEMBERS


@pytest.mark.parametrize('name', NAMES)
def test_a_docstring_says_parameters_results_and_errors(name):
    """Arrays come with shape and unit, and an error that the body raises is announced."""
    item = NAMES[name]
    for inner in ('fget', 'func', '__func__'):  # of a property and of a class method
        item = getattr(item, inner, item)
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
    if item is NAMES[name] or isinstance(NAMES[name], classmethod):
        parameters = set(signature.parameters) - {'self', 'cls'}
        assert set(re.findall(r':param (\w+):', text)) == parameters
        assert returns == 'None' or ':returns:' in text or text.startswith('Return')
