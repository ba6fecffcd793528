"""What the work handler must answer, computed here."""
import math


def lcg(number, iterations, steps=1):
    """The value after request `number` (from 0) of a connection."""
    value = 1 + number
    for _ in range(steps):
        for i in range(iterations):
            value = (value * 1664525 + 1013904223 + i) & 0xFFFFFFFF
    return value


def square_roots(iterations):
    """The integer part of the sum, added up as doubles in order."""
    total = 0.0
    for i in range(iterations):
        total += math.sqrt(i)
    return int(total)


def loop_result(loop, value):
    return b"%02x%06x" % (loop, value & 0xFFFFFF)
