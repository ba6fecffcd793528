"""Handlers from a .so file: the sample module answers at once, from a timer and by a pulled body, and is cancelled."""
import hashlib
import threading
import time

import pytest

from talk import settings
from talk.client import request
from talk.server import run
from talk.settings import allow
