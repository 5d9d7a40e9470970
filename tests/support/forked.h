// What happens in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include "support/test.h"

namespace whorl::test {

/// What a forked child makes of body(): whether it says yes within a minute.
template <class Body>
bool child_succeeds(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  for (int looks = 0; looks < 6000; ++looks) {
    int status = -1;
    if (waitpid(child, &status, WNOHANG) == child) return status == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return false;
}

}  // namespace whorl::test
