# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A description as a document: its text, elements, numbers and drawn shapes.

The readers of the room around it use ``values`` and ``xml``; other rooms use the names below, to
read, change or draw a description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.description.document.number_editor import (
        DescriptionEditor as DescriptionEditor,
    )
    from transmission_bridge.description.document.values import (
        INFINITE as INFINITE,
        MECHANICAL_REDUCTION as MECHANICAL_REDUCTION,
        OFFSET as OFFSET,
        parse_number as parse_number,
    )
    from transmission_bridge.description.document.visuals import (
        Color as Color,
        load_urdf_visuals as load_urdf_visuals,
        VisualSpec as VisualSpec,
    )
    from transmission_bridge.description.document.xml import (
        description_text as description_text,
        Element as Element,
        MAX_BYTES as MAX_BYTES,
        parse_xml as parse_xml,
        read_urdf_file as read_urdf_file,
    )

__all__, __getattr__ = import_lazily(__name__)
