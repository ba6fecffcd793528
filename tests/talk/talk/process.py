"""What /proc says of a running server."""
import os
import time

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of all its threads."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_share(pid, seconds):
    """Share of one CPU used during the next `seconds`."""
    before, start = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - start)


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as list_:
        return list_.read().split()


def nameless_files(pid, directory):
    """Sizes of the files without a name that it has open in that directory."""
    sizes = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{number}"
        try:
            if os.readlink(path).startswith(f"{directory}/") and os.readlink(path).endswith(" (deleted)"):
                sizes.append(os.stat(path).st_size)
        except FileNotFoundError:
            pass  # closed since
    return sizes
