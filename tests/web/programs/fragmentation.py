# SPDX-License-Identifier: MIT
"""fragmentation.py: keeps a small buffer for each session, allocated between the larger ones of its requests. Most sessions expire."""
import os
import random
import signal
import time

random.seed(1)
sessions = {}
for number in range(20000):
    request = [bytearray(random.randrange(200, 900)) for _ in range(6)]
    sessions[number] = bytearray(random.randrange(120, 400))
    if number % 4 == 0:
        sessions[-number] = request  # logged in: its requests are kept, too
for number in list(sessions):
    if number % 60 or number < 0:
        del sessions[number]
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGTERM)  # a service that is stopped
