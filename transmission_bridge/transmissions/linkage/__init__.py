# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Linkages: loops, their assemblies, and the structure of their motion.

Other rooms import only these names: ``loops`` proposes linkages by them, and tools ask for the
joints of a linkage. URDFs select the type by its entry point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.transmissions.linkage.component import (
        group_loop_joints as group_loop_joints,
        LinkageSpec as LinkageSpec,
        make_linkage_system as make_linkage_system,
    )
    from transmission_bridge.transmissions.linkage.structure import (
        compute_rank_share as compute_rank_share,
        LinkageStructure as LinkageStructure,
    )
    from transmission_bridge.transmissions.linkage.tree import (
        LinkageTree as LinkageTree,
        list_linkage_joints as list_linkage_joints,
        Loop as Loop,
        LOOP_TYPES as LOOP_TYPES,
        LoopType as LoopType,
    )

__all__, __getattr__ = import_lazily(__name__)
