# SPDX-License-Identifier: MIT
"""A file system of our own whose files can be read and written but not mapped, like some network file systems.

It speaks to /dev/fuse itself: one folder, flat, in memory. Mounted in a mount namespace that ends with the process.
"""

import ctypes
import errno
import os
import struct
import threading

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 0x40000, 2
LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 10, 14, 15, 16, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET = 25, 26, 27, 28, 29, 35, 36, 42
DIRECT_IO = 1
ROOT = 1


class PlainFuse:
    """Mounts at `folder`; OSError if this machine does not allow it."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.files, self.names = {}, {}
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        for done in (lambda: libc.unshare(CLONE_NEWNS),
                     lambda: libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None),
                     lambda: libc.mount(b"plain", str(folder).encode(), b"fuse", 0, options.encode())):
            if done() != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.unmount = lambda: libc.umount2(str(folder).encode(), MNT_DETACH)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError as why:
                if why.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            _, opcode, unique, node, *_ = struct.unpack_from("<IIQQIIIHH", request)
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            error, answer = self._answer(opcode, node, request[40:])
            os.write(self.device, struct.pack("<IiQ", 16 + len(answer), -error, unique) + answer)

    def _attributes(self, node):
        size = len(self.files.get(node, b""))
        mode = 0o40755 if node == ROOT else 0o100644
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _answer(self, opcode, node, body):
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHH", 7, 31, 1 << 16, 0, 16, 12, 1 << 16, 1, 16, 0) + bytes(32)
        if opcode == LOOKUP:
            found = self.names.get(body.rstrip(b"\0"))
            return (0, self._entry(found)) if found else (errno.ENOENT, b"")
        if opcode in (GETATTR, SETATTR):
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == CREATE:
            made = len(self.files) + 2
            self.files[made], self.names[body[16:].rstrip(b"\0")] = bytearray(), made
            return 0, self._entry(made) + struct.pack("<QII", made, DIRECT_IO, 0)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", node, DIRECT_IO, 0)
        if opcode == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            data = self.files[node]
            data.extend(bytes(max(0, offset + size - len(data))))
            data[offset:offset + size] = body[40:40 + size]
            return 0, struct.pack("<II", size, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, bytes(self.files[node][offset:offset + size])
        if opcode == UNLINK:
            self.names.pop(body.rstrip(b"\0"), None)
            return 0, b""
        if opcode in (FLUSH, RELEASE, RELEASEDIR, READDIR):
            return 0, b""
        if opcode == STATFS:
            return 0, struct.pack("<QQQQQIIII", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0) + bytes(24)
        return errno.ENOSYS, b""
