// SPDX-License-Identifier: Apache-2.0
//
// The parts of the guest's init: it boots (boot.c), talks (port.c), reads a request (request.c), makes the host's files
// visible (root.c) and runs the command (command.c).
#ifndef RINGSIDE_SCRIPTS_VMLIB_GUEST_GUEST_H
#define RINGSIDE_SCRIPTS_VMLIB_GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "scripts/vmlib/guest/protocol.h"

// A list of texts that ends with a null pointer, as execve wants it.
struct texts {
  char** items;
  size_t count;
};

struct share {
  char* tag;
  char* path;
};

struct limit {
  int resource;
  struct rlimit value;
};

struct request {
  struct texts arguments;
  struct texts variables;
  struct texts sysctls;
  struct texts carried;
  char* directory;
  char* filesystem;
  char* modules;
  struct share* shares;
  size_t share_count;
  struct limit* limits;
  size_t limit_count;
  uint32_t uid, gid, umask;
  uint32_t* groups;
  size_t group_count;
  bool merge_outputs;
  bool want_dmesg;
};

struct frame {
  uint32_t type;
  uint32_t length;
  const uint8_t* payload;  // valid until the next frame is read
};

// boot.c: what needs no request, so that a snapshot can hold it.
void boot(void);
void mount_or_die(const char* source, const char* target, const char* type, unsigned long flags, const char* data);
void make_directories(const char* path);
// Before the port is open the console is all there is: says why, and ends the guest.
__attribute__((format(printf, 1, 2), noreturn)) void die(const char* format, ...);

// port.c
extern int port;
void port_open(void);
void port_send(uint32_t type, const void* payload, size_t length);
void port_send_numbers(uint32_t type, uint32_t first, uint32_t second);
// Reads once. Gives the next frame if one is complete; blocks only while nothing at all has arrived.
bool port_receive(struct frame* frame);
// A frame that is complete already: what one read brought may hold several.
bool port_next(struct frame* frame);
// Tells the host why the command cannot run, and waits for the host to end the guest.
__attribute__((format(printf, 1, 2), noreturn)) void fault(const char* format, ...);

// request.c
void request_read(struct request* request);

// root.c
void root_mount(const struct request* request);
void shares_sync(const struct request* request);

// tsc.c: what the same program does on the host, where it is not process 1.
int tsc_print_khz(void);

// command.c: runs the command to its end and tells the host how it ended.
void command_run(const struct request* request);

#endif
