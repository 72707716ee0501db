// SPDX-License-Identifier: Apache-2.0
//
// What the guest's init and scripts/vm say to each other over one virtio-serial port: frames of a header and a payload,
// little-endian. scripts/vmlib/runner_stream.py has the same numbers, and scripts/vm_test.py compares the two.
//
// The guest says HELLO once it is ready, and nothing more until the first frame of a request arrives: here a snapshot
// is taken. AWAKE answers that first frame. The frames of a request end with START; the command's streams follow.
//
// Each of the three streams has a window: who sends may have that many bytes under way, and who receives gives CREDIT
// for what it passed on. So a reader that stalls holds up its own stream and neither the others nor the heartbeat.
#ifndef RINGSIDE_SCRIPTS_VMLIB_GUEST_PROTOCOL_H
#define RINGSIDE_SCRIPTS_VMLIB_GUEST_PROTOCOL_H

#include <stdint.h>

enum {
  PROTOCOL_VERSION = 1,
  FRAME_PAYLOAD_MAX = 262144,  // more than the longest argument that Linux takes, 128 KiB
  OUTPUT_WINDOW = 1048576,
  INPUT_WINDOW = 262144,
};

struct frame_header {
  uint32_t type;
  uint32_t length;  // of the payload that follows, in bytes
};

enum frame_type {
  // Guest to host.
  FRAME_HELLO = 1,      // u32 PROTOCOL_VERSION, then the kernel's release as text
  FRAME_AWAKE = 2,      // nothing
  FRAME_HEARTBEAT = 3,  // nothing; once a second from AWAKE on
  FRAME_STARTED = 4,    // nothing: the command's exec succeeded
  FRAME_STDOUT = 5,     // bytes
  FRAME_STDERR = 6,     // bytes
  FRAME_DMESG = 7,      // lines of the kernel's log
  FRAME_EXIT = 8,       // u32 1 if a signal killed the command, u32 the exit status or the signal
  FRAME_FAULT = 9,      // text: why the command could not be run
  // Both ways.
  FRAME_CREDIT = 16,  // u32 the type of the stream's frames, u32 bytes
  FRAME_CLOSE = 17,   // u32 the type of a stream's frames: nobody reads it any more
  // Host to guest: the request.
  FRAME_ARGUMENT = 32,    // text, one frame each, in order
  FRAME_VARIABLE = 33,    // NAME=VALUE
  FRAME_DIRECTORY = 34,   // text: where the command runs
  FRAME_IDENTITY = 35,    // u32 uid, u32 gid, u32 umask, then u32 for each supplementary group
  FRAME_LIMIT = 36,       // u32 resource, u32 0, u64 soft, u64 hard
  FRAME_CLOCK = 37,       // u64 seconds and u64 nanoseconds since 1970
  FRAME_SEED = 38,        // random bytes
  FRAME_SYSCTL = 39,      // KEY=VALUE
  FRAME_FILESYSTEM = 40,  // "9p" or "virtiofs": how the host's directories come in
  FRAME_SHARE = 41,       // TAG, a zero byte, the path where it is mounted writable
  FRAME_CARRY = 42,       // a path of the host's below a fresh mount (/tmp, /run) that must be seen all the same
  FRAME_MODULES = 43,     // a path of the host's: the modules of this kernel
  FRAME_OPTIONS = 44,     // u32 1 if stdout and stderr are the same file, u32 1 if the kernel's log is wanted
  FRAME_START = 45,       // nothing: the request is complete
  // Host to guest: the command's input.
  FRAME_STDIN = 48,      // bytes
  FRAME_STDIN_END = 49,  // nothing
};

#endif
