// SPDX-License-Identifier: Apache-2.0
//
// Runs the command and carries its three streams, in one loop: nothing here waits for one stream alone.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scripts/vmlib/guest/guest.h"

enum { HEARTBEAT_MS = 1000, PIPE_BYTES = 1048576 };

// Standard output or standard error.
struct output {
  int pipe;  // -1 once it is at its end, or nobody reads it
  uint32_t type;
  size_t room;  // what the host still takes before it gives credit
};

static struct {
  pid_t child;
  bool ended;
  int status;
  struct output outputs[2];
  int stdin_pipe;
  uint8_t pending[INPUT_WINDOW];  // standard input that the command has not taken yet
  size_t pending_begin, pending_end;
  bool stdin_ends;
  int children;  // signalfd
  int kernel_log;
  int64_t next_heartbeat_ms;
} run;

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Starting the command.

static void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) {
    fault("make a pipe: %s", strerror(errno));
  }
  fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
}

// What kept the child from becoming the command; a successful exec closes the pipe that it would go through.
struct failure {
  int error;
  char attempt[512];
};

__attribute__((noreturn)) static void give_up(int report, const char* attempt, const char* object) {
  struct failure failure = {.error = errno};
  snprintf(failure.attempt, sizeof(failure.attempt), "%s %s", attempt, object);
  const bool told = write(report, &failure, sizeof(failure)) == sizeof(failure);
  _exit(told ? 0 : 126);
}

static void become_user(const struct request* request, int report) {
  for (size_t i = 0; i < request->limit_count; ++i) {
    if (setrlimit((__rlimit_resource_t)request->limits[i].resource, &request->limits[i].value) != 0) {
      give_up(report, "set", "a resource limit");
    }
  }
  umask(request->umask);
  if (setgroups(request->group_count, request->groups) != 0 || setgid(request->gid) != 0 || setuid(request->uid) != 0) {
    give_up(report, "become", "the user");
  }
}

__attribute__((noreturn)) static void exec_command(const struct request* request, const int stream_ends[3],
                                                   int report) {
  setsid();
  for (int i = 0; i < 3; ++i) {
    dup2(stream_ends[i], i);
  }
  become_user(request, report);
  if (chdir(request->directory) != 0) {
    give_up(report, "change to", request->directory);
  }
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  char* empty[] = {NULL};
  extern char** environ;
  environ = request->variables.count > 0 ? request->variables.items : empty;
  execvp(request->arguments.items[0], request->arguments.items);
  // As shells have it: 127 for a command that is not there, 126 for one that cannot be run.
  const int failure = errno;
  fprintf(stderr, "scripts/vm: %s: %s\n", request->arguments.items[0], strerror(failure));
  _exit(failure == ENOENT ? 127 : 126);
}

static void start_command(const struct request* request) {
  int in[2], out[2], errors[2], report[2];
  make_pipe(in);
  make_pipe(out);
  make_pipe(errors);
  make_pipe(report);
  run.child = fork();
  if (run.child < 0) {
    fault("start a process: %s", strerror(errno));
  }
  if (run.child == 0) {
    const int ends[3] = {in[0], out[1], request->merge_outputs ? out[1] : errors[1]};
    exec_command(request, ends, report[1]);
  }
  close(in[0]);
  close(out[1]);
  close(errors[1]);
  close(report[1]);
  struct failure failure;
  if (read(report[0], &failure, sizeof(failure)) > 0) {
    fault("%s: %s", failure.attempt, strerror(failure.error));
  }
  port_send(FRAME_STARTED, NULL, 0);
  close(report[0]);
  run.stdin_pipe = in[1];
  run.outputs[0] = (struct output){out[0], FRAME_STDOUT, OUTPUT_WINDOW};
  run.outputs[1] = (struct output){errors[0], FRAME_STDERR, OUTPUT_WINDOW};
  fcntl(run.stdin_pipe, F_SETFL, O_NONBLOCK);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  fcntl(errors[0], F_SETFL, O_NONBLOCK);
}

// Its outputs.

static void close_output(struct output* output) {
  if (output->pipe >= 0) {
    close(output->pipe);
    output->pipe = -1;
  }
}

static void forward_output(struct output* output) {
  static uint8_t buffer[FRAME_PAYLOAD_MAX];
  const size_t wanted = output->room < sizeof(buffer) ? output->room : sizeof(buffer);
  const ssize_t got = read(output->pipe, buffer, wanted);
  if (got > 0) {
    port_send(output->type, buffer, (size_t)got);
    output->room -= (size_t)got;
  } else if (got == 0) {
    close_output(output);
  }
}

// Whether nothing lies in the pipe. What children that outlive the command may still write is not waited for.
static bool is_drained(const struct output* output) {
  int waiting = 0;
  return output->pipe < 0 || ioctl(output->pipe, FIONREAD, &waiting) != 0 || waiting == 0;
}

// Its input.

static void close_stdin(void) {
  if (run.stdin_pipe >= 0) {
    close(run.stdin_pipe);
    run.stdin_pipe = -1;
  }
  run.pending_begin = run.pending_end = 0;
}

static void take_stdin(const struct frame* frame) {
  if (run.stdin_pipe < 0) {
    return;  // the host does not know yet that nobody reads
  }
  if (run.pending_end + frame->length > sizeof(run.pending)) {
    memmove(run.pending, run.pending + run.pending_begin, run.pending_end - run.pending_begin);
    run.pending_end -= run.pending_begin;
    run.pending_begin = 0;
  }
  if (run.pending_end + frame->length > sizeof(run.pending)) {
    fault("more standard input from the host than its window of %d bytes", INPUT_WINDOW);
  }
  memcpy(run.pending + run.pending_end, frame->payload, frame->length);
  run.pending_end += frame->length;
}

static void pass_stdin_on(void) {
  const size_t length = run.pending_end - run.pending_begin;
  if (length > 0) {
    const ssize_t written = write(run.stdin_pipe, run.pending + run.pending_begin, length);
    if (written > 0) {
      run.pending_begin += (size_t)written;
      port_send_numbers(FRAME_CREDIT, FRAME_STDIN, (uint32_t)written);
    } else if (written < 0 && errno == EPIPE) {
      port_send_numbers(FRAME_CLOSE, FRAME_STDIN, 0);
      close_stdin();
    }
  }
  if (run.stdin_ends && run.pending_begin == run.pending_end) {
    close_stdin();
  }
}

// What the host says, and the rest.

static struct output* output_of(uint32_t type) { return &run.outputs[type == FRAME_STDERR]; }

static void take_frame(const struct frame* frame) {
  uint32_t numbers[2] = {0};
  memcpy(numbers, frame->payload, frame->length < sizeof(numbers) ? frame->length : sizeof(numbers));
  switch (frame->type) {
    case FRAME_CREDIT:
      output_of(numbers[0])->room += numbers[1];
      break;
    case FRAME_CLOSE:
      close_output(output_of(numbers[0]));
      break;
    case FRAME_STDIN:
      take_stdin(frame);
      break;
    case FRAME_STDIN_END:
      run.stdin_ends = true;
      break;
    default:
      fault("frame %u while the command runs", frame->type);
  }
}

static void take_frames(void) {
  struct frame frame;
  for (bool complete = port_receive(&frame); complete; complete = port_next(&frame)) {
    take_frame(&frame);
  }
}

// Process 1 also inherits what other processes leave behind.
static void collect_children(void) {
  struct signalfd_siginfo ignored;
  while (read(run.children, &ignored, sizeof(ignored)) > 0) {
  }
  int status;
  for (pid_t child = waitpid(-1, &status, WNOHANG); child > 0; child = waitpid(-1, &status, WNOHANG)) {
    if (child == run.child) {
      run.ended = true;
      run.status = status;
    }
  }
}

// One record a read: "priority,sequence,microseconds,flags;text\n", then lines of properties that begin with a blank.
static void forward_kernel_log(void) {
  enum { RECORDS_A_TURN = 64 };
  for (int i = 0; i < RECORDS_A_TURN; ++i) {
    char record[8192];
    const ssize_t got = read(run.kernel_log, record, sizeof(record) - 1);
    if (got < 0 && errno == EPIPE) {
      continue;  // the log ran over its reader; the next record is there
    }
    if (got <= 0) {
      return;
    }
    record[got] = '\0';
    unsigned long long microseconds = 0;
    const char* text = strchr(record, ';');
    if (!text || sscanf(record, "%*u,%*u,%llu", &microseconds) != 1) {
      continue;
    }
    char line[sizeof(record) + 32];
    const int length = snprintf(line, sizeof(line), "[%5llu.%06llu] %.*s\n", microseconds / 1000000,
                                microseconds % 1000000, (int)strcspn(text + 1, "\n"), text + 1);
    port_send(FRAME_DMESG, line, (size_t)length);
  }
}

static void beat(void) {
  if (now_ms() >= run.next_heartbeat_ms) {
    port_send(FRAME_HEARTBEAT, NULL, 0);
    run.next_heartbeat_ms = now_ms() + HEARTBEAT_MS;
  }
}

static void turn(void) {
  enum { PORT, CHILDREN, OUT, ERRORS, IN, LOG, COUNT };
  struct pollfd polled[COUNT] = {
      [PORT] = {port, POLLIN, 0},
      [CHILDREN] = {run.children, POLLIN, 0},
      [OUT] = {run.outputs[0].room > 0 ? run.outputs[0].pipe : -1, POLLIN, 0},
      [ERRORS] = {run.outputs[1].room > 0 ? run.outputs[1].pipe : -1, POLLIN, 0},
      // Without anything to write it is polled all the same: an error says that the command closed its end.
      [IN] = {run.stdin_pipe, run.pending_end > run.pending_begin ? POLLOUT : 0, 0},
      [LOG] = {run.kernel_log, POLLIN, 0},
  };
  const int64_t wait_ms = run.next_heartbeat_ms - now_ms();
  poll(polled, COUNT, wait_ms > 0 ? (int)wait_ms : 0);
  beat();
  if (polled[PORT].revents) {
    take_frames();
  }
  for (int i = 0; i < 2; ++i) {
    if (polled[OUT + i].revents && run.outputs[i].pipe >= 0) {
      forward_output(&run.outputs[i]);
    }
  }
  if (polled[IN].revents & POLLERR) {
    port_send_numbers(FRAME_CLOSE, FRAME_STDIN, 0);
    close_stdin();
  }
  if (run.stdin_pipe >= 0) {
    pass_stdin_on();
  }
  if (polled[LOG].revents) {
    forward_kernel_log();
  }
  if (polled[CHILDREN].revents) {
    collect_children();
  }
}

void command_run(const struct request* request) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_ended, NULL);
  signal(SIGPIPE, SIG_IGN);
  run.children = signalfd(-1, &child_ended, SFD_NONBLOCK | SFD_CLOEXEC);
  run.kernel_log = request->want_dmesg ? open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  start_command(request);
  run.next_heartbeat_ms = now_ms();
  while (!run.ended || !is_drained(&run.outputs[0]) || !is_drained(&run.outputs[1])) {
    turn();
  }
  shares_sync(request);
  if (run.kernel_log >= 0) {
    forward_kernel_log();
  }
  const bool killed = WIFSIGNALED(run.status);
  port_send_numbers(FRAME_EXIT, killed, (uint32_t)(killed ? WTERMSIG(run.status) : WEXITSTATUS(run.status)));
}
