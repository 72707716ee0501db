// SPDX-License-Identifier: Apache-2.0
//
// Process 1 of a guest of scripts/vm. It boots as far as it can without knowing what is to be run, says so, and takes
// one request; nothing about the command is in the initrd, so one initrd and one snapshot serve every command.
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

static void say_hello(void) {
  struct utsname names;
  uname(&names);
  uint8_t hello[sizeof(uint32_t) + sizeof(names.release)];
  const uint32_t version = PROTOCOL_VERSION;
  const size_t release_length = strlen(names.release);
  memcpy(hello, &version, sizeof(version));
  memcpy(hello + sizeof(version), names.release, release_length);
  port_send(FRAME_HELLO, hello, sizeof(version) + release_length);
}

int main(void) {
  if (getpid() != 1) {
    return tsc_print_khz();
  }
  boot();
  port_open();
  say_hello();
  struct request request = {0};
  request_read(&request);
  root_mount(&request);
  command_run(&request);
  // The host ends the guest as soon as it knows how the command ended.
  for (;;) {
    pause();
  }
}
