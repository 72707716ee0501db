// SPDX-License-Identifier: Apache-2.0
#include "ring/signals.h"

#include <csignal>

namespace ringside::ring {

namespace {

volatile std::sig_atomic_t caught_signal = 0;

}  // namespace

SignalGuard::SignalGuard() {
  caught_signal = 0;
  struct sigaction action{};
  action.sa_handler = [](int signal) { caught_signal = signal; };
  for (std::size_t index = 0; index < signals.size(); ++index) sigaction(signals[index], &action, &before_[index]);
}

SignalGuard::~SignalGuard() {
  for (std::size_t index = 0; index < signals.size(); ++index) sigaction(signals[index], &before_[index], nullptr);
}

int interrupted_by() { return caught_signal; }

}  // namespace ringside::ring
