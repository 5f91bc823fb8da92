# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A bus of simulated Feetech STS3215 servos on a pseudo-terminal.

As a process (``python3 sts_bus.py servo_bus --ids 1 2 3``) it makes the port ``servo_bus`` until
SIGINT or SIGTERM unplugs it.

A packet is ``FF FF ID LENGTH INSTRUCTION PARAMETERS CHECKSUM``, with ``LENGTH`` the number of
parameters + 2 and ``CHECKSUM = ~sum(ID..PARAMETERS) & FF``. In an answer the error byte stands in
place of the instruction. Numbers are little endian, with a sign bit.
"""

import argparse
import os
from pathlib import Path
import random
import select
import signal
import threading
import time
import tty

READ, WRITE, SYNC_READ, SYNC_WRITE = 2, 3, 0x82, 0x83
PHASE, MODE, TORQUE, GOAL, PRESENT = 18, 33, 40, 42, 56
TURN, SPEED = 4096, 3000.0  # [ticks], [ticks/s]


def encode(number, sign_bit=15):
    """Return two bytes with a sign bit."""
    number = round(number)
    return (min(abs(number), (1 << sign_bit) - 1) | (number < 0) << sign_bit).to_bytes(2, 'little')


def decode(raw, sign_bit=15):
    """Return the number of two bytes with a sign bit."""
    number = int.from_bytes(raw, 'little')
    return -(number & (1 << sign_bit) - 1) if number >> sign_bit & 1 else number


class Servo:
    """A control table, and a position that follows the goal at a constant speed."""

    def __init__(self, number, at=2048.0, counts_turns=False):
        self.table = bytearray(128)
        self.table[3:9] = *(777).to_bytes(2, 'little'), number, 0, 0, 1
        self.table[9:13] = bytes(4) if counts_turns else encode(0) + encode(TURN - 1)
        self.table[PHASE] = 0x1C if counts_turns else 0x0C
        self.table[62:64] = 74, 31  # voltage, temperature
        self.at = float(at)

    @property
    def goal(self):
        """The goal position [ticks]."""
        return decode(self.table[GOAL : GOAL + 2])

    def advance(self, dt):
        """Move with the torque on, within one turn unless it counts turns."""
        before = self.at
        if self.table[TORQUE]:
            self.at += max(-SPEED * dt, min(SPEED * dt, self.goal - self.at))
        speed = (self.at - before) / dt if dt > 0.0 else 0.0
        shown = self.at if self.table[PHASE] & 0x10 else round(self.at) % TURN
        self.table[PRESENT : PRESENT + 6] = encode(shown) + encode(speed) + encode(speed / 10, 10)


class Bus:
    """Servos by id; give it bytes, and it returns the answers."""

    def __init__(self, servos):
        self.servos = {servo.table[5]: servo for servo in servos}
        self.shown, self.goals = [], []  # time and numbers by id of each position, each goal
        self._buffer, self._time = bytearray(), time.monotonic()

    def move(self):
        """Move all servos by the time since the last call."""
        now = time.monotonic()
        for servo in self.servos.values():
            servo.advance(now - self._time)
        self._time = now

    def answer(self, data):
        """Return the answers to received bytes, one packet each."""
        self.move()
        self._buffer += data
        answers = []
        while (start := self._buffer.find(b'\xff\xff')) >= 0 and len(self._buffer) > start + 3:
            end = start + 4 + self._buffer[start + 3]
            if len(self._buffer) < end:
                break
            packet = bytes(self._buffer[start + 2 : end])
            del self._buffer[:end]
            if ~sum(packet[:-1]) & 0xFF == packet[-1]:
                answers += self._execute(packet[0], packet[2], packet[3:-1])
        return answers

    def _execute(self, number, instruction, given):
        if instruction == SYNC_READ:
            first, length = given[:2]
            found = [(each, self.servos[each]) for each in given[2:] if each in self.servos]
            if first == PRESENT:
                pairs = [(each, decode(s.table[PRESENT : PRESENT + 2])) for each, s in found]
                self.shown.append((self._time, dict(pairs)))
            return [make_answer(each, s.table[first : first + length]) for each, s in found]
        if instruction == SYNC_WRITE:
            first, length = given[:2]
            for at in range(2, len(given), length + 1):
                self._write(given[at], first, given[at + 1 : at + 1 + length])
            if first == GOAL:
                size = length + 1
                pairs = [(given[at], given[at + 1 : at + 3]) for at in range(2, len(given), size)]
                self.goals.append((self._time, {each: decode(raw) for each, raw in pairs}))
            return []
        if number not in self.servos:
            return []
        if instruction == READ:
            first, length = given
            return [make_answer(number, self.servos[number].table[first : first + length])]
        if instruction == WRITE:
            self._write(number, given[0], given[1:])
        return [make_answer(number)]

    def _write(self, number, first, data):
        if number in self.servos:
            self.servos[number].table[first : first + len(data)] = data


def make_answer(number, data=b''):
    """Return a status packet without an error."""
    body = bytes([number, len(data) + 2, 0]) + bytes(data)
    return b'\xff\xff' + body + bytes([~sum(body) & 0xFF])


class PortThread:
    """
    A bus on a pseudo-terminal at the path ``link``, served by a thread inside of ``with``.

    ``is_silent``: no answers; ``loss``: share of packets that are lost at random, seeded;
    ``delays``: functions that return when the next answers may come; ``count``: answers so far.
    """

    def __init__(self, bus, link):
        self.bus, self.link = bus, Path(link)
        self.is_silent, self.loss, self.delays = False, 0.0, []
        self._random, self.count = random.Random(0), 0
        self._is_plugged = self._is_ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def plug(self):
        """Create the port."""
        self._master, self._slave = os.openpty()  # our end open, or the client's close is EIO
        tty.setraw(self._slave)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(self._slave))
        self._is_plugged = True

    def unplug(self):
        """Remove the port."""
        self._is_plugged = False
        self.link.unlink(missing_ok=True)
        os.close(self._master)
        os.close(self._slave)

    def __enter__(self):
        self.plug()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_ended = True
        self._thread.join()
        if self._is_plugged:
            self.unplug()

    def _run(self):
        while not self._is_ended:
            try:
                if self._is_plugged and select.select([self._master], [], [], 0.02)[0]:
                    self._answer(os.read(self._master, 1024))
                    continue
            except OSError:  # unplugged
                pass
            time.sleep(0.001)

    def _answer(self, data):
        if self._is_lost():
            return
        sent = b''.join(each for each in self.bus.answer(data) if not self._is_lost())
        on_the_wire = (len(data) + len(sent)) * 10 / 1e6
        time.sleep(on_the_wire)
        if self.delays and sent:
            self.delays.pop(0)()
        os.write(self._master, b'' if self.is_silent else sent)
        self.count += 1

    def await_request(self):
        """Return when the next request has come."""
        select.select([self._master], [], [])

    def _is_lost(self):
        return self._random.random() < self.loss


def main():
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('port', help='path of the port to create')
    parser.add_argument('--ids', type=int, nargs='+', default=[1, 2, 3, 4, 5, 6])
    parser.add_argument('--turns', type=int, nargs='*', default=[5], help='ids that count turns')
    given = parser.parse_args()
    servos = [Servo(each, counts_turns=each in given.turns) for each in given.ids]
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with PortThread(Bus(servos), given.port):
        print(f'{len(servos)} servos on {given.port}', flush=True)
        ended.wait()


if __name__ == '__main__':
    main()
