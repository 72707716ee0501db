// SPDX-License-Identifier: Apache-2.0
//
// Booting: the kernel's own file systems, the modules that the initrd brings along, loopback, a few settings.
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

void die(const char* format, ...) {
  // scripts/vm looks for these words on the console (runner_console.py).
  fputs("ringside init: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputs("\n", stderr);
  // The end of process 1 is a panic, and a panic ends QEMU.
  _exit(1);
}

void make_directories(const char* path) {
  char* copy = strdup(path);
  for (char* slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(copy, 0755);
    *slash = '/';
  }
  mkdir(copy, 0755);
  free(copy);
}

void mount_or_die(const char* source, const char* target, const char* type, unsigned long flags, const char* data) {
  mkdir(target, 0755);
  if (mount(source, target, type, flags, data) != 0) {
    die("mount %s on %s: %s", type, target, strerror(errno));
  }
}

// A file system that not every kernel has.
static void mount_if_there(const char* source, const char* target, const char* type) {
  if (mount(source, target, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0 && errno != ENODEV && errno != ENOENT) {
    die("mount %s on %s: %s", type, target, strerror(errno));
  }
}

static void mount_kernel_file_systems(void) {
  const unsigned long plain = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  mount_or_die("proc", "/proc", "proc", plain, NULL);
  mount_or_die("sysfs", "/sys", "sysfs", plain, NULL);
  mount_or_die("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
  mount_or_die("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=0620,gid=5,ptmxmode=0666");
  mount_or_die("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  mount_if_there("bpf", "/sys/fs/bpf", "bpf");
  mount_if_there("cgroup2", "/sys/fs/cgroup", "cgroup2");
  mount_if_there("debugfs", "/sys/kernel/debug", "debugfs");
  mount_if_there("tracefs", "/sys/kernel/tracing", "tracefs");
  // devtmpfs leaves these to user space; shells and tests count on them.
  symlink("/proc/self/fd", "/dev/fd");
  symlink("/proc/self/fd/0", "/dev/stdin");
  symlink("/proc/self/fd/1", "/dev/stdout");
  symlink("/proc/self/fd/2", "/dev/stderr");
}

static void load_module(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    die("open %s: %s", path, strerror(errno));
  }
  if (syscall(SYS_finit_module, file, "", 0) != 0 && errno != EEXIST) {
    die("load %s: %s", path, strerror(errno));
  }
  close(file);
}

// /modules/list names one file a line, in the order in which they can be loaded.
static void load_modules(void) {
  FILE* list = fopen("/modules/list", "re");
  if (!list) {
    die("open /modules/list: %s", strerror(errno));
  }
  char line[256];
  while (fgets(line, sizeof(line), list)) {
    line[strcspn(line, "\n")] = '\0';
    load_module(line);
  }
  fclose(list);
}

static void loopback_up(void) {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) {
    return;  // a kernel without IPv4
  }
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  if (ioctl(any, SIOCSIFFLAGS, &request) != 0) {
    die("bring up lo: %s", strerror(errno));
  }
  close(any);
}

// A setting that not every kernel has.
static void set_if_there(const char* path, const char* value) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    if (write(file, value, strlen(value)) < 0) {
      fprintf(stderr, "write %s: %s\n", path, strerror(errno));
    }
    close(file);
  }
}

void boot(void) {
  mount_kernel_file_systems();
  load_modules();
  loopback_up();
  const char name[] = "ringside";
  sethostname(name, sizeof(name) - 1);
  set_if_there("/proc/sys/kernel/perf_event_paranoid", "-1");
  set_if_there("/proc/sys/net/core/bpf_jit_enable", "1");
  // A test that wants a crash or the stacks of all tasks may ask for them.
  set_if_there("/proc/sys/kernel/sysrq", "1");
  // Grace periods were hurried for the boot alone (runner_qemu.py).
  set_if_there("/sys/kernel/rcu_expedited", "0");
}
