// SPDX-License-Identifier: Apache-2.0
//
// Mutexes, for the parts of the runtime that give them back and take them again.
#pragma once

#include <pthread.h>

#include "explore/engine.h"

namespace ringside::explore::runtime {

/// As pthread_mutex_lock and pthread_mutex_unlock, for the running thread.
int lock(Engine& engine, pthread_mutex_t* mutex);
int unlock(Engine& engine, pthread_mutex_t* mutex);

}  // namespace ringside::explore::runtime
