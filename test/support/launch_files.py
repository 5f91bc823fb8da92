# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The launch files of the package, read without launch."""

from __future__ import annotations

import ast
import re

from documents import ROOT


def list_arguments(name):
    """Return the names of the arguments of a launch file and of the launch files it includes."""
    text = (ROOT / 'launch' / name).read_text(encoding='utf-8')
    (rows,) = (
        node.generators[0].iter.elts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ListComp) and 'DeclareLaunchArgument' in ast.unparse(node.elt)
    )
    names = {row.elts[0].value for row in rows}
    return names.union(*map(list_arguments, re.findall(r"/launch/(\w+\.launch\.py)'", text)))
