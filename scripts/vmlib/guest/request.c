// SPDX-License-Identifier: Apache-2.0
//
// Reading a request: frame by frame until START.
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

static void* grown(void* list, size_t count, size_t item_size) {
  void* larger = realloc(list, count * item_size);
  if (!larger) {
    fault("no memory for the request");
  }
  return larger;
}

static char* text_of(const struct frame* frame) {
  char* text = strndup((const char*)frame->payload, frame->length);
  if (!text) {
    fault("no memory for the request");
  }
  return text;
}

static void add_text(struct texts* texts, const struct frame* frame) {
  texts->items = grown(texts->items, texts->count + 2, sizeof(*texts->items));
  texts->items[texts->count++] = text_of(frame);
  texts->items[texts->count] = NULL;
}

// A payload of a fixed layout; one of another size comes from a host of another version.
static void copy_payload(const struct frame* frame, void* to, size_t length) {
  if (frame->length < length) {
    fault("frame %u of the request has %u bytes, not %zu", frame->type, frame->length, length);
  }
  memcpy(to, frame->payload, length);
}

static void add_share(struct request* request, const struct frame* frame) {
  request->shares = grown(request->shares, request->share_count + 1, sizeof(*request->shares));
  struct share* share = &request->shares[request->share_count++];
  share->tag = text_of(frame);
  const size_t tag_length = strlen(share->tag) + 1;
  if (tag_length > frame->length) {
    fault("share %s has no path", share->tag);
  }
  share->path = strndup((const char*)frame->payload + tag_length, frame->length - tag_length);
}

static void add_limit(struct request* request, const struct frame* frame) {
  struct {
    uint32_t resource, unused;
    uint64_t soft, hard;
  } told;
  copy_payload(frame, &told, sizeof(told));
  request->limits = grown(request->limits, request->limit_count + 1, sizeof(*request->limits));
  request->limits[request->limit_count++] = (struct limit){(int)told.resource, {told.soft, told.hard}};
}

static void set_identity(struct request* request, const struct frame* frame) {
  uint32_t numbers[3];
  copy_payload(frame, numbers, sizeof(numbers));
  request->uid = numbers[0];
  request->gid = numbers[1];
  request->umask = numbers[2];
  request->group_count = (frame->length - sizeof(numbers)) / sizeof(*request->groups);
  request->groups = grown(NULL, request->group_count + 1, sizeof(*request->groups));
  memcpy(request->groups, frame->payload + sizeof(numbers), request->group_count * sizeof(*request->groups));
}

static void set_clock(const struct frame* frame) {
  uint64_t now[2];
  copy_payload(frame, now, sizeof(now));
  const struct timespec time = {.tv_sec = (time_t)now[0], .tv_nsec = (long)now[1]};
  if (clock_settime(CLOCK_REALTIME, &time) != 0) {
    fault("set the clock: %s", strerror(errno));
  }
}

// Guests restored from one snapshot would all draw the same random numbers.
static void stir_random_numbers(const struct frame* frame) {
  // The layout of struct rand_pool_info: how many bits to trust, how many bytes follow, the bytes.
  struct {
    int entropy_bits, size;
    uint8_t bytes[256];
  } seed = {0};
  seed.size = (int)(frame->length < sizeof(seed.bytes) ? frame->length : sizeof(seed.bytes));
  seed.entropy_bits = seed.size * 8;
  memcpy(seed.bytes, frame->payload, (size_t)seed.size);
  const int device = open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (device < 0 || ioctl(device, RNDADDENTROPY, &seed) != 0 || ioctl(device, RNDRESEEDCRNG) != 0) {
    fault("seed /dev/urandom: %s", strerror(errno));
  }
  close(device);
}

static void set_options(struct request* request, const struct frame* frame) {
  uint32_t numbers[2];
  copy_payload(frame, numbers, sizeof(numbers));
  request->merge_outputs = numbers[0] != 0;
  request->want_dmesg = numbers[1] != 0;
}

static void take_frame(struct request* request, const struct frame* frame) {
  switch (frame->type) {
    case FRAME_ARGUMENT:
      return add_text(&request->arguments, frame);
    case FRAME_VARIABLE:
      return add_text(&request->variables, frame);
    case FRAME_DIRECTORY:
      request->directory = text_of(frame);
      return;
    case FRAME_IDENTITY:
      return set_identity(request, frame);
    case FRAME_LIMIT:
      return add_limit(request, frame);
    case FRAME_CLOCK:
      return set_clock(frame);
    case FRAME_SEED:
      return stir_random_numbers(frame);
    case FRAME_SYSCTL:
      return add_text(&request->sysctls, frame);
    case FRAME_FILESYSTEM:
      request->filesystem = text_of(frame);
      return;
    case FRAME_SHARE:
      return add_share(request, frame);
    case FRAME_CARRY:
      return add_text(&request->carried, frame);
    case FRAME_MODULES:
      request->modules = text_of(frame);
      return;
    case FRAME_OPTIONS:
      return set_options(request, frame);
    default:
      fault("frame %u is no part of a request", frame->type);
  }
}

static void next_frame(struct frame* frame) {
  while (!port_receive(frame)) {
  }
}

void request_read(struct request* request) {
  struct frame frame;
  next_frame(&frame);
  port_send(FRAME_AWAKE, NULL, 0);
  while (frame.type != FRAME_START) {
    take_frame(request, &frame);
    next_frame(&frame);
  }
  if (request->arguments.count == 0 || !request->directory || !request->filesystem || !request->groups) {
    fault("the request lacks arguments, a directory, a file system or an identity");
  }
}
