// SPDX-License-Identifier: Apache-2.0
//
// What the command sees as its root. Step by step, from the guest's first root:
//
//   /host             the host's /, read-only (9p or virtiofs)
//   /scratch          a tmpfs, half of the memory: all that the guest writes outside of shares
//   /merged             overlay of /host with /scratch/upper; becomes / by a move and a chroot; then, in it:
//   /proc /sys /dev   moved from the first root
//   /tmp /run         directories of /scratch, so fresh and empty
//   carried paths     bound from the overlay as it was before /tmp and /run came over it
//   shares            directories of the host, writable
//   /lib/modules/...  the modules of this kernel, bound from /host
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

// As large as QEMU's 9p takes it at virtio's limit of 128 pages: fewer round trips for large reads.
#define SHARE_MESSAGE_BYTES "512000"

static void mount_or_fault(const char* source, const char* target, const char* type, unsigned long flags,
                           const char* data) {
  if (mount(source, target, type, flags, data) != 0) {
    fault("mount %s on %s: %s", type ? type : source, target, strerror(errno));
  }
}

// The root cannot change under its reader, so that anything may be cached; a share must be written through, and only
// cache=mmap lets programs map files of it writable.
static void mount_of_host(const struct request* request, const char* tag, const char* target, bool writable) {
  const unsigned long flags = writable ? 0 : MS_RDONLY;
  if (strcmp(request->filesystem, "virtiofs") == 0) {
    mount_or_fault(tag, target, "virtiofs", flags, NULL);
    return;
  }
  const char* common = "trans=virtio,version=9p2000.L,access=any,msize=" SHARE_MESSAGE_BYTES;
  char data[128];
  snprintf(data, sizeof(data), "%s,cache=%s", common, writable ? "mmap" : "loose");
  mount_or_fault(tag, target, "9p", flags, data);
}

static int open_place(int directory, const char* path) {
  const int place = openat(directory, path, O_PATH | O_CLOEXEC);
  if (place < 0) {
    fault("open %s of the host: %s", path, strerror(errno));
  }
  return place;
}

static void bind_place(int place, const char* target) {
  char source[64];
  snprintf(source, sizeof(source), "/proc/self/fd/%d", place);
  make_directories(target);
  mount_or_fault(source, target, NULL, MS_BIND, NULL);
  close(place);
}

static void enter_root(void) {
  const char* moved[] = {"/proc", "/sys", "/dev"};
  for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); ++i) {
    char target[32];
    snprintf(target, sizeof(target), "/merged%s", moved[i]);
    mkdir(target, 0755);
    mount_or_fault(moved[i], target, NULL, MS_MOVE, NULL);
  }
  if (chdir("/merged") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 || chdir("/") != 0) {
    fault("enter the command's root: %s", strerror(errno));
  }
}

static void make_overlay(const struct request* request) {
  mount_of_host(request, "root", "/host", false);
  mount_or_fault("tmpfs", "/scratch", "tmpfs", MS_NODEV, "mode=0755,size=50%");
  mkdir("/scratch/upper", 0755);
  mkdir("/scratch/work", 0755);
  mkdir("/scratch/tmp", 01777);
  chmod("/scratch/tmp", 01777);
  mkdir("/scratch/run", 0755);
  mount_or_fault("overlay", "/merged", "overlay", 0, "lowerdir=/host,upperdir=/scratch/upper,workdir=/scratch/work");
}

static void write_sysctl(const char* assignment) {
  const size_t key_length = strcspn(assignment, "=");
  const char* value = assignment + key_length + 1;
  char path[256];
  snprintf(path, sizeof(path), "/proc/sys/%.*s", (int)key_length, assignment);
  // As sysctl(8): dots part the names, and a slash stands for a dot within a name.
  for (char* at = path + strlen("/proc/sys/"); *at; ++at) {
    *at = *at == '.' ? '/' : *at == '/' ? '.' : *at;
  }
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    struct utsname names;
    uname(&names);
    fault("sysctl '%.*s' is not known to kernel %s", (int)key_length, assignment, names.release);
  }
  if (file < 0 || write(file, value, strlen(value)) < 0) {
    fault("set sysctl %s: %s", assignment, strerror(errno));
  }
  close(file);
}

static void bind_modules(int modules) {
  struct utsname names;
  uname(&names);
  char target[sizeof(names.release) + 32];
  snprintf(target, sizeof(target), "/lib/modules/%s", names.release);
  bind_place(modules, target);
}

void root_mount(const struct request* request) {
  mkdir("/host", 0755);
  mkdir("/scratch", 0755);
  mkdir("/merged", 0755);
  make_overlay(request);
  const int root = open_place(AT_FDCWD, "/merged");
  const int host = open_place(AT_FDCWD, "/host");
  const int fresh_tmp = open_place(AT_FDCWD, "/scratch/tmp");
  const int fresh_run = open_place(AT_FDCWD, "/scratch/run");
  int* carried = calloc(request->carried.count + 1, sizeof(*carried));
  for (size_t i = 0; i < request->carried.count; ++i) {
    carried[i] = open_place(root, request->carried.items[i] + 1);
  }
  const int modules = request->modules ? open_place(host, request->modules + 1) : -1;
  close(root);
  close(host);

  enter_root();
  bind_place(fresh_tmp, "/tmp");
  bind_place(fresh_run, "/run");
  for (size_t i = 0; i < request->carried.count; ++i) {
    bind_place(carried[i], request->carried.items[i]);
  }
  free(carried);
  if (modules >= 0) {
    bind_modules(modules);
  }
  for (size_t i = 0; i < request->share_count; ++i) {
    make_directories(request->shares[i].path);
    mount_of_host(request, request->shares[i].tag, request->shares[i].path, true);
  }
  for (size_t i = 0; i < request->sysctls.count; ++i) {
    write_sysctl(request->sysctls.items[i]);
  }
}

// What was written through a mapping may still lie in the guest's page cache.
void shares_sync(const struct request* request) {
  for (size_t i = 0; i < request->share_count; ++i) {
    const int share = open(request->shares[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (share >= 0) {
      syncfs(share);
      close(share);
    }
  }
}
