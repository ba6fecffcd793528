"""What the environment may set: which binary, which trees, how slow this build is.

MLSERVE        the binary under test; default BUILD/mlserve
MLSERVE_SRC    source tree; default: the one this file lies in
MLSERVE_BUILD  build tree; default: SRC/build, else SRC
TALK_SLOW      factor for every time allowed (sanitizer builds, busy machines); default 1
"""
import os
from pathlib import Path

SRC = Path(os.environ.get("MLSERVE_SRC") or Path(__file__).resolve().parents[3]).resolve()


def _build():
    if os.environ.get("MLSERVE_BUILD"):
        return Path(os.environ["MLSERVE_BUILD"]).resolve()
    return SRC / "build" if (SRC / "build").is_dir() else SRC


BUILD = _build()
MLSERVE = str(Path(os.environ.get("MLSERVE") or BUILD / "mlserve").resolve())
SLOW = float(os.environ.get("TALK_SLOW") or 1)


def allow(seconds):
    """An upper bound for something that should take far less."""
    return seconds * SLOW
