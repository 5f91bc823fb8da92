# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Aliases that nothing in the description is read by."""

from __future__ import annotations

import pytest

from transmission_bridge.bridge.options import find_unused_aliases
from transmission_bridge.description import load_description

#: One transmission of a strange type, and one of another that cannot be read.
ROBOT = """<robot name="r">
<transmission name="good"><type>their/Gearbox</type>
  <actuator name="m"><mechanicalReduction>2</mechanicalReduction></actuator>
  <joint name="j"/></transmission>
<transmission name="bad"><type>their/Other</type>
  <actuator name="n"><mechanicalReduction>many</mechanicalReduction></actuator>
  <joint name="k"/></transmission>
</robot>"""


@pytest.mark.parametrize(
    ('text', 'types', 'expected'),
    [
        (ROBOT, [], []),
        (ROBOT, ['their/Gearbox'], []),
        (ROBOT, ['their/Other'], []),
        (ROBOT, ['their/Gearbox', 'their/Gearbax'], ['their/Gearbax']),
        ('<robot name="r"/>', ['b', 'a'], ['b', 'a']),
    ],
)
def test_what_the_robot_does_not_have_is_a_warning(text, types, expected):
    """Each type that no transmission of the file has, be it refused, is a warning."""
    findings = find_unused_aliases(load_description(text), dict.fromkeys(types, 'our/Type'))
    assert [finding.message.split("'")[1] for finding in findings] == expected
    assert {finding.severity for finding in findings} <= {'warning'}
    for finding in findings:
        known = 'their/Gearbox, their/Other' if text is ROBOT else 'no types at all'
        assert known in finding.expected
