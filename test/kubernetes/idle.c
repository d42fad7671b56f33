// The only program in the test node's images, linked statically. It waits; after SIGTERM it runs for
// as many milliseconds as its argument says (0) and exits 0. As a pod's first process it reaps
// zombies.
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

int main(int count, char** words) {
  const long delay = count > 1 ? strtol(words[1], NULL, 10) : 0;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  for (int signal = SIGCHLD; signal == SIGCHLD;) {
    sigwait(&signals, &signal);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
  const struct timespec rest = {delay / 1000, delay % 1000 * 1000000};
  nanosleep(&rest, NULL);
  return 0;
}
