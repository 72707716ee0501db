/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer contract: everything that Ringside asks of a program that reads a kernel ring, as one C header, so that
 * any language can meet it. A consumer is a table of five functions (open, drain, wait, release, close) over an opaque
 * state; the harness is a table of callbacks that the consumer calls (deliver, lost, wait, ...). A consumer knows this
 * header and nothing of the world it runs in: the ring may be the model's or the running kernel's.
 *
 * Threads: the harness calls all five functions from one thread, never two at once. A consumer calls the host's
 * functions from that thread only.
 *
 * Errors: functions that can fail return a negative errno value (-ENOMEM); 0 or more is success.
 */
#ifndef RINGSIDE_RING_CONSUMER_H
#define RINGSIDE_RING_CONSUMER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. A consumer of another version is refused with both numbers named. */
#define RINGSIDE_CONSUMER_ABI 1u

/* Ring kinds; a consumer names the ones it can read as a bit set. */
#define RINGSIDE_RINGBUF 0x1u /* BPF_MAP_TYPE_RINGBUF */
#define RINGSIDE_PERF 0x2u    /* perf event rings, one a CPU */

/* What a consumer needs of its rings (struct ringside_consumer, `needs`). */
#define RINGSIDE_NEEDS_FD 0x1u /* file descriptors of real kernel objects: runs in the kernel world only */
#define RINGSIDE_OWNS_RINGS \
  0x2u /* perf: opens and maps its own rings on ringside_ring_set.map_fd, then `adopt`s each */
#define RINGSIDE_NEEDS_ONE_RING 0x4u /* ringbuf: it reads a set of one ring and refuses others */

/* How the host's epoll item is armed for each ring. */
#define RINGSIDE_LEVEL 0u
#define RINGSIDE_EDGE 1u

/* What a consumer claims beyond the contract; a claim that does not hold is a defect, an unclaimed one a note. */
#define RINGSIDE_CLAIM_SLEEPS_ON_BUSY 0x1u /* a BUSY record at the head puts it to sleep, it does not spin (Q2) */
#define RINGSIDE_CLAIM_REPORTS_LOSS 0x2u   /* every record that PERF_RECORD_LOST accounts for reaches `lost` */
/*
 * It reads rings made with BPF_F_RB_OVERWRITE (kernel 6.19) too: records lie from the later of consumer_pos and
 * overwrite_pos on, and a copy counts only if overwrite_pos, read again behind it, has not passed the record. Only
 * consumers that claim this run in scenarios of such rings.
 */
#define RINGSIDE_CLAIM_READS_OVERWRITE 0x4u
/* It never sleeps in wait but looks again and again: waits that return ready for nothing are no busy_spin. */
#define RINGSIDE_CLAIM_BUSY_POLLS 0x8u
/*
 * Where samples carry their time (ringside_ring_set.sample_type), or BPF records begin with it (stamp_bytes),
 * deliveries over all rings come in its order, and ringside_record.time_ns tells it. Judged in stepped runs, where no
 * producer stands still for long between the taking of the stamp and the publishing of its record. In BPF rings a
 * committed record may have to wait for a BUSY one of another ring, which may be older: until then it counts as not
 * committed.
 */
#define RINGSIDE_CLAIM_TIME_ORDER 0x20u

/*
 * It reads the two sides of an A/B swap (ringside_ring_set.swap). Consumers that claim this run in scenarios of two
 * sides, and in no others.
 */
#define RINGSIDE_CLAIM_READS_SIDES 0x10u

/*
 * It reads perf rings that are written backward and overwrite their oldest records (ringside_ring_set.backward).
 * Consumers that claim this run in scenarios of such rings, and in no others.
 */
#define RINGSIDE_CLAIM_READS_BACKWARD 0x40u

/* What a consumer says of a batch when it ends (struct ringside_host, `batch_end`). */
#define RINGSIDE_BATCH_EMPTY 1u  /* every ring is empty now */
#define RINGSIDE_BATCH_BEFORE 2u /* all that was committed before batch_begin returned is delivered or told as lost */
/* Two sides: of the one that was frozen last, whatever a program put into it is delivered or told as lost, and no
 * program that chose it before it was frozen has yet to write into it. */
#define RINGSIDE_BATCH_SIDE 3u

/* Readiness as epoll tells it. */
#define RINGSIDE_POLLIN 0x001u
#define RINGSIDE_POLLERR 0x008u
#define RINGSIDE_POLLHUP 0x010u

/* What ringside_consumer.wait returns. */
#define RINGSIDE_WAIT_TIMEOUT 0 /* the deadline passed and no committed record lay in any ring at that moment */
#define RINGSIDE_WAIT_READY 1   /* drain again; a spurious return is allowed, endless ones are busy_spin */

/*
 * One ring, mapped. All sizes in bytes; all positions in the pages are in host byte order.
 *   ringbuf: consumer_page is one writable page (consumer_pos: u64 at 0); producer_page is one read-only page
 *            (producer_pos: u64 at 0, pending_pos at 8, overwrite_pos at 16); data is 2 * data_size read-only bytes,
 * the second half the same memory as the first. perf:    consumer_page is the writable control page (data_head: u64 at
 * 1024, data_tail: u64 at 1032); producer_page is NULL; data is data_size read-only bytes, mapped once: records wrap.
 * A store to read-only memory is a `protocol` defect.
 */
struct ringside_ring {
  uint32_t kind;      /* RINGSIDE_RINGBUF or RINGSIDE_PERF */
  int32_t cpu;        /* the CPU whose records it carries; -1: ringbuf, those of all */
  int32_t fd;         /* map fd (ringbuf) or event fd (perf); -1 in the model, which has none */
  uint32_t page_size; /* bytes */
  uint64_t data_size; /* bytes, a power of two */
  void* consumer_page;
  const void* producer_page;
  const void* data;
};

/*
 * The words of an A/B swap, which programs and consumer share. A program reads transfer_count once; its parity names
 * the side, 0 or 1. It adds 1 to the side's samples, atomically, and then puts its record out to the side's ring of its
 * CPU. The consumer stores transfer_count + 1, which freezes the side that was named: only programs that have read the
 * count before still write there. It takes from samples, atomically, what it has delivered or told as lost, so that the
 * two counters together say what is on its way.
 */
struct ringside_swap {
  uint64_t transfer_count;
  uint64_t samples[2];
};

/* The rings of one run; lives until close has returned. */
struct ringside_ring_set {
  uint32_t kind;       /* the kind of every ring in the set */
  uint32_t ring_count; /* 0 for a consumer that owns its rings */
  const struct ringside_ring* rings;
  int32_t map_fd;           /* the ringbuf map, the ARRAY_OF_MAPS of one a CPU, or PERF_EVENT_ARRAY; -1 in the model */
  uint32_t data_pages;      /* pages of one ring's data, a power of two */
  uint32_t wakeup_events;   /* perf: attr.wakeup_events when watermark_bytes is 0 */
  uint32_t watermark_bytes; /* perf: attr.wakeup_watermark with attr.watermark = 1; 0 = not set */
  struct ringside_swap* swap; /* perf, two sides: the first half of the rings is side 0; else NULL. Came with batches */
  uint64_t sample_type;       /* perf: attr.sample_type, RAW or RAW | TIME (PERF_SAMPLE_*); 0 means RAW */
  /*
   * perf: attr.write_backward, and both pages mapped for reading only. data_head goes down, the newest record lies at
   * it and older ones above, one lap of them; none ever finds the ring full, and data_tail means nothing.
   */
  uint32_t backward;
  uint32_t stamp_bytes; /* ringbuf: 8 where each record begins with its time (u64, ns), which counts as its bytes */
};

/*
 * One record handed to the host. For perf, `data` is the raw payload after its u32 size and `size` is that size: it
 * includes 0 to 7 bytes of padding that the kernel added; for a ringbuf, `size` is the record's own length.
 *   token == 0: the bytes are valid until deliver returns.
 *   token != 0: a view; the bytes stay valid and their space stays reserved until the host passes the token to
 *               ringside_consumer.release. Tokens are released in any order; 0 is never a token.
 */
struct ringside_record {
  uint32_t ring; /* index in the set, or the order of adoption */
  uint32_t reserved;
  const void* data;
  uint64_t size; /* bytes */
  uint64_t token;
  uint64_t time_ns; /* what its sample's time or its stamp says, or 0; read of who claims RINGSIDE_CLAIM_TIME_ORDER */
};

struct ringside_ready {
  uint32_t ring;
  uint32_t events; /* RINGSIDE_POLL* */
};

/* The harness's side. `context` is the first argument of every call. */
struct ringside_host {
  uint32_t abi_version;
  uint32_t struct_size; /* sizeof(struct ringside_host) of the caller */
  void* context;

  /* Hands over one record. Returns 0, or 1: stop the drain after this record (which counts as delivered). */
  int (*deliver)(void* context, const struct ringside_record* record);

  /* Reports that `count` records of `ring` were lost: the sum that PERF_RECORD_LOST carries, never 0. */
  void (*lost)(void* context, uint32_t ring, uint64_t count);

  /*
   * Sleeps until a ring is ready, as epoll_wait does on one epoll set that holds every ring (armed with the consumer's
   * `trigger` before the first record was produced). timeout_ns < 0 waits without a deadline.
   * Returns the number of entries written to `ready` (at most max_ready), 0 when the deadline passed, -EINTR, or
   * -ECANCELED: the run is over, return it from ringside_consumer.wait at once.
   */
  int (*wait)(void* context, struct ringside_ready* ready, uint32_t max_ready, int64_t timeout_ns);

  /* The same for one descriptor that the consumer owns: 1 readable, 0 timeout, -EINTR, -ECANCELED. Kernel world only.
   */
  int (*wait_fd)(void* context, int fd, int64_t timeout_ns);

  /* Nanoseconds on a monotonic clock: virtual in the stepped worlds. Use it for every deadline. */
  int64_t (*now_ns)(void* context);

  /*
   * Lets the others run, and some time pass. A consumer that looks at the same place again and again calls it between
   * two looks, and looks once more before it tells a timeout. A reader that another CPU may disturb between two of its
   * accesses calls it there, so that a run in steps shows that case, too.
   */
  void (*yield)(void* context);

  /* A consumer with RINGSIDE_OWNS_RINGS tells of each ring it opened, in open; consumer_page and data are mapped. */
  int (*adopt)(void* context, const struct ringside_ring* ring);

  /*
   * A consumer that says where a batch of records ends (a call that returns all that was there) tells of its beginning,
   * delivers, tells of its end and what it claims: RINGSIDE_BATCH_*, which is held against the rings. A batch may be
   * given up: it is begun, never ended, and another begun. In a ringbuf what lies behind a BUSY record is not committed
   * yet. The space of what is delivered must have been handed back when the batch ends. A consumer that claims nothing
   * calls neither. They came later than the calls above: a host may be older, see struct_size.
   */
  void (*batch_begin)(void* context);
  void (*batch_end)(void* context, uint32_t claim);

  /*
   * perf: stops the output into one ring (on = 1) or lets it go on (on = 0), as PERF_EVENT_IOC_PAUSE_OUTPUT does; what
   * is put out meanwhile is lost. 0 or a negative errno. NULL where the host cannot. An output that was under way goes
   * on: see quiesce. What is paused must go on before close.
   */
  int (*pause)(void* context, uint32_t ring, int on);

  /*
   * Sleeps for that time, whatever the rings do. 0, -EINTR (how long it slept only now_ns tells), or -ECANCELED: the
   * run is over, return it from ringside_consumer.wait at once.
   */
  int (*sleep)(void* context, int64_t ns);

  /*
   * perf: returns when the outputs into that ring that were under way when it was called are over, as it is once the
   * caller has run on the ring's CPU: none of them lets its CPU go before it has ended. 0 or a negative errno.
   */
  int (*quiesce)(void* context, uint32_t ring);
};

/*
 * A consumer. Order of calls: open, then drain / wait / release as often as the host likes, then close exactly once if
 * open succeeded. When open fails it leaves nothing behind.
 */
struct ringside_consumer {
  uint32_t abi_version; /* RINGSIDE_CONSUMER_ABI */
  uint32_t struct_size; /* sizeof(struct ringside_consumer) */
  const char* name;     /* unique, [a-z0-9_]+ */
  const char* summary;  /* one line */
  uint32_t ring_kinds;
  uint32_t needs;
  uint32_t trigger; /* RINGSIDE_LEVEL or RINGSIDE_EDGE */
  uint32_t claims;

  /* Starts to read. `rings` and `host` live until close has returned. 0 or a negative errno. */
  int (*open)(const struct ringside_ring_set* rings, const struct ringside_host* host, void** state);

  /*
   * Delivers committed records in ring order, at most max_records (> 0) of them, without blocking. Stops early at the
   * first BUSY record, at the end, or when deliver returned 1. Discarded records are passed over and not counted.
   * Returns the number delivered, or a negative errno. It may return 0 though records remain only if views that the
   * host still holds are in the way.
   */
  int64_t (*drain)(void* state, uint64_t max_records);

  /*
   * Sleeps until drain may find something, at most timeout_ns (< 0: no deadline), by host->wait or host->wait_fd.
   * Returns RINGSIDE_WAIT_READY, RINGSIDE_WAIT_TIMEOUT, -EINTR (the host calls again) or -ECANCELED. May deliver.
   * A timeout is a statement: at the deadline no ring held a committed record. Telling it untested is early_timeout.
   */
  int (*wait)(void* state, int64_t timeout_ns);

  /* Ends one view. 0, or -EINVAL for a token that is not held. NULL if the consumer never hands out tokens. */
  int (*release)(void* state, uint64_t token);

  /* Ends the reading and frees the state. Views still held are void. */
  void (*close)(void* state);
};

/* What a plugin exports under the name `ringside_consumer_entry`. */
typedef const struct ringside_consumer* (*ringside_consumer_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* RINGSIDE_RING_CONSUMER_H */
