// Prints how long each process has been on a CPU, all its threads, in µs: the kernel's exact clock
// and not its ticks. It doesn't contain what its children took:
//
//   cpu_clock PID...
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    clockid_t clock;
    timespec time;
    if (clock_getcpuclockid(static_cast<pid_t>(std::atol(argv[i])), &clock) != 0 ||
        clock_gettime(clock, &time) != 0) {
      std::fprintf(stderr, "cpu_clock: there is no process %s\n", argv[i]);
      return 1;
    }
    std::printf("%lld\n", static_cast<long long>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000);
  }
}
