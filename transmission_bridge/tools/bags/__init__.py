# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recordings, read and written a piece at a time: MCAP, rosbag2's SQLite files and folders, CSV.

What a conversion does not concern comes out as it went in (publish times, sequence numbers,
connection metadata, schemas of any kind, attachments), and a file that was cut off or damaged is
read as far as it can be.
"""
