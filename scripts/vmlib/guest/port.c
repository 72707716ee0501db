// SPDX-License-Identifier: Apache-2.0
//
// The one port to the host. It is opened once and kept open: a virtio-serial port that is closed and opened again may
// lose what the host sent in between.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

// Port 0 of a virtio-serial device is kept for a console; ours is the first after it.
#define PORT_PATH "/dev/vport0p1"

int port = -1;

static uint8_t input[2 * (sizeof(struct frame_header) + FRAME_PAYLOAD_MAX)];
static size_t input_begin, input_end;

static void wait_a_millisecond(void) {
  const struct timespec millisecond = {.tv_nsec = 1000000};
  nanosleep(&millisecond, NULL);
}

void port_open(void) {
  // The driver makes the port after it asked the device for it, some time after its module is loaded.
  enum { PATIENCE_MS = 30000 };
  for (int waited_ms = 0; waited_ms < PATIENCE_MS; ++waited_ms) {
    port = open(PORT_PATH, O_RDWR | O_CLOEXEC);
    if (port >= 0) {
      return;
    }
    if (errno != ENOENT && errno != ENXIO && errno != ENODEV) {
      break;
    }
    wait_a_millisecond();
  }
  die("open %s: %s", PORT_PATH, strerror(errno));
}

static void write_all(const void* data, size_t length) {
  const uint8_t* at = data;
  while (length > 0) {
    const ssize_t written = write(port, at, length);
    if (written < 0) {
      // The host went away, or has not taken the port up again: wait, for there is nobody else to tell.
      wait_a_millisecond();
      continue;
    }
    at += written;
    length -= (size_t)written;
  }
}

void port_send(uint32_t type, const void* payload, size_t length) {
  static uint8_t output[sizeof(struct frame_header) + FRAME_PAYLOAD_MAX];
  const struct frame_header header = {.type = type, .length = (uint32_t)length};
  memcpy(output, &header, sizeof(header));
  if (length > 0) {
    memcpy(output + sizeof(header), payload, length);
  }
  write_all(output, sizeof(header) + length);
}

void port_send_numbers(uint32_t type, uint32_t first, uint32_t second) {
  const uint32_t numbers[2] = {first, second};
  port_send(type, numbers, sizeof(numbers));
}

bool port_next(struct frame* frame) {
  struct frame_header header;
  if (input_end - input_begin < sizeof(header)) {
    return false;
  }
  memcpy(&header, input + input_begin, sizeof(header));
  if (header.length > FRAME_PAYLOAD_MAX) {
    fault("a frame of %u bytes from the host; the limit is %d", header.length, FRAME_PAYLOAD_MAX);
  }
  if (input_end - input_begin < sizeof(header) + header.length) {
    return false;
  }
  frame->type = header.type;
  frame->length = header.length;
  frame->payload = input + input_begin + sizeof(header);
  input_begin += sizeof(header) + header.length;
  return true;
}

bool port_receive(struct frame* frame) {
  if (port_next(frame)) {
    return true;
  }
  memmove(input, input + input_begin, input_end - input_begin);
  input_end -= input_begin;
  input_begin = 0;
  const ssize_t got = read(port, input + input_end, sizeof(input) - input_end);
  if (got > 0) {
    input_end += (size_t)got;
  } else {
    // Nobody at the host's end: a snapshot that is being restored.
    wait_a_millisecond();
  }
  return port_next(frame);
}

void fault(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  port_send(FRAME_FAULT, text, strlen(text));
  for (;;) {
    pause();
  }
}
