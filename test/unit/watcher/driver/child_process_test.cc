#include "watcher/driver/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <latch>
#include <set>
#include <thread>

#include "test/unit/support/temporary_directory.h"
#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::steady_clock;

constexpr unsigned kLongestSeconds = 100;  // of a test; it ends by SIGALRM then

// What all scripts begin with. `soon COMMAND` waits until the command succeeds, for some minutes at
// most; in a shell a trap waits for the command that runs, so these are short.
constexpr const char* kFunctions = R"(
exists() { [ -e "$1" ]; }
is_gone() { ! [ -e /proc/$1 ]; }
soon() {
  i=0
  until "$@"; do
    [ $((i += 1)) -lt 10000 ] || exit 99
    sleep 0.01
  done
}
stay() { exec 2>/dev/null; soon false; }
)";

// Scripts run in a directory of the test. `$PPID` is the test itself, so they send the signals that
// they are to be forwarded.
class ChildProcessTest : public testing::Test {
 protected:
  ChildProcessTest() { alarm(kLongestSeconds); }
  ~ChildProcessTest() override { alarm(0); }

  Result<ChildEnd, NotStarted> RunArgv(std::vector<std::string> argv) {
    command_.argv = std::move(argv);
    return RunChild(command_, signals_);
  }
  ChildEnd RunScript(const std::string& script) {
    const auto end = RunArgv({"sh", "-c", "cd " + directory_.Path() + kFunctions + script});
    if (!end) {
      ADD_FAILURE() << end.error().reason;
      return {};
    }
    return *end;
  }
  // Takes the next signal that isn't about a child; nothing if none comes within the time.
  std::optional<int> TakeWithin(Duration time) {
    const MonotonicTime deadline = steady_clock::now() + time;
    std::optional<int> signal;
    do {
      signal = signals_.Take(deadline);
    } while (signal == SIGCHLD);
    return signal;
  }
  // Reads the number that a script wrote.
  pid_t ReadPid(const std::string& file) const { return std::atoi(directory_.Read(file).c_str()); }

  TemporaryDirectory directory_;
  SignalSource signals_{kChildSignals};
  ChildCommand command_{{}, {}, {}, minutes(10)};
};

// --- How it ends

TEST_F(ChildProcessTest, TellsTheExitCode) {
  for (const int code : {0, 3, 255}) {
    const ChildEnd end = RunScript("exit " + std::to_string(code));
    EXPECT_EQ(end.exit_code, code);
    EXPECT_EQ(end.killed_by, std::nullopt);
    EXPECT_EQ(end.stopped_by, std::nullopt);
  }
}

TEST_F(ChildProcessTest, TellsTheSignalThatKilledIt) {
  const ChildEnd end = RunScript("kill -KILL $$");
  EXPECT_EQ(end.exit_code, 137);
  EXPECT_EQ(end.killed_by, SIGKILL);
  EXPECT_EQ(end.stopped_by, std::nullopt);
}

TEST_F(ChildProcessTest, TellsTheExitCodeWhereSigchldWasIgnored) {
  signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(RunScript("exit 3").exit_code, 3);
}

TEST_F(ChildProcessTest, SaysThatACommandDoesNotExist) {
  const std::string file = directory_.Write("file", "");
  const std::string script = directory_.Write("script", "#!/no/such/interpreter\n");
  chmod(script.c_str(), 0755);
  for (const std::string& name :
       {std::string("no-such-command"), std::string("/no/such"), file + "/x", script}) {
    const auto end = RunArgv({name, "argument"});
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().exit_code, 127) << name;
    EXPECT_NE(end.error().reason.find("command " + name + " "), std::string::npos);
    EXPECT_NE(end.error().reason.find("install it"), std::string::npos);
  }
}

TEST_F(ChildProcessTest, SaysThatACommandCanNotBeExecuted) {
  const std::string text = directory_.Write("text", "exit 0\n");
  chmod(text.c_str(), 0755);
  for (const std::string& name :
       {directory_.Path(), directory_.Write("not-executable", "#!/bin/sh\n"), text}) {
    const auto end = RunArgv({name});
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().exit_code, 126) << name;
    EXPECT_NE(end.error().reason.find("command " + name + " can't be executed: "),
              std::string::npos);
  }
}

TEST_F(ChildProcessTest, SaysThatTheArgumentsAreTooLong) {
  const auto end = RunArgv({"true", std::string(1 << 20, 'x')});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().exit_code, 126);
  EXPECT_NE(end.error().reason.find("too long"), std::string::npos);
}

TEST_F(ChildProcessTest, TellsACommandThatExitsLikeOneThatDoesNotExist) {
  EXPECT_EQ(RunScript("exit 127").exit_code, 127);
  EXPECT_EQ(RunScript("exit 126").exit_code, 126);
}

// --- What it has

TEST_F(ChildProcessTest, HasOurEnvironmentAndMore) {
  setenv("KEPT", "kept", 1);
  setenv("REPLACED", "before", 1);
  command_.environment = {{"REPLACED", "after"}, {"ADDED", "a=b c"}};
  RunScript(
      "tr '\\0' '\\n' </proc/$$/environ | grep -E '^(KEPT|REPLACED|ADDED)=' | sort >environment");
  EXPECT_EQ(directory_.Read("environment"), "ADDED=a=b c\nKEPT=kept\nREPLACED=after\n");
}

TEST_F(ChildProcessTest, HasItsArgumentsAsTheyAre) {
  EXPECT_EQ(
      RunArgv({"sh", "-c", R"([ "$#,$1,$2" = '2,a b,$(c) *' ])", "sh", "a b", "$(c) *"})->exit_code,
      0);
}

TEST_F(ChildProcessTest, HasAProcessGroupOfItsOwn) {
  EXPECT_EQ(RunScript("[ $(cut -d ' ' -f 5 /proc/$$/stat) = $$ ]").exit_code, 0);
}

TEST_F(ChildProcessTest, HasTheDefaultsForSignals) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  RunScript("exec grep -E 'Sig(Blk|Ign)' /proc/self/status >signals");
  signal(SIGHUP, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(directory_.Read("signals"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(ChildProcessTest, InheritsNoDescriptorThatWasOpenedSince) {
  const int meant_for_it = open("/dev/null", O_RDONLY);
  command_.descriptors = InheritableDescriptors();
  const int leaked = open("/dev/null", O_RDONLY);
  const int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_TRUE(command_.descriptors.contains(meant_for_it));
  EXPECT_FALSE(command_.descriptors.contains(leaked));
  RunScript("(ls /proc/$$/fd >descriptors); exit 0");
  std::set<int> its;
  for (const std::string& word : Words(directory_.Read("descriptors"))) its.insert(std::stoi(word));
  EXPECT_EQ(its, command_.descriptors);
  for (const int descriptor : {meant_for_it, leaked, closed}) close(descriptor);
}

TEST_F(ChildProcessTest, InheritsNothingElseUnlessItIsToldTo) {
  RunScript("(ls /proc/$$/fd >descriptors); exit 0");
  EXPECT_EQ(Words(directory_.Read("descriptors")), Words("0 1 2"));
}

// --- Signals

TEST_F(ChildProcessTest, GetsTheSignalsThatWeGet) {
  for (const std::string& signal : Words("HUP INT QUIT USR1 USR2 TERM CONT WINCH")) {
    const ChildEnd end =
        RunScript("signal=" + signal + "; trap 'exit 7' $signal; kill -$signal $PPID; stay");
    EXPECT_EQ(end.exit_code, 7) << signal;
    EXPECT_EQ(end.stopped_by.has_value(), signal == "TERM" || signal == "INT") << signal;
  }
}

TEST_F(ChildProcessTest, TellsWhichSignalStoppedItFirst) {
  const ChildEnd end =
      RunScript("trap 'kill -INT $PPID' TERM; trap 'exit 7' INT; kill -TERM $PPID; stay");
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.stopped_by, SIGTERM);
}

TEST_F(ChildProcessTest, IsStoppedAlsoIfItEndsWell) {
  const ChildEnd end = RunScript("trap 'exit 0' INT; kill -INT $PPID; stay");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.stopped_by, SIGINT);
}

TEST_F(ChildProcessTest, GetsASignalThatCameBeforeIt) {
  kill(getpid(), SIGTERM);
  const ChildEnd end = RunScript("exec sleep 300");
  EXPECT_EQ(end.killed_by, SIGTERM);
  EXPECT_EQ(end.exit_code, 143);
  EXPECT_EQ(end.stopped_by, SIGTERM);
}

TEST_F(ChildProcessTest, ForwardsSignalsToItsWholeGroup) {
  const ChildEnd end = RunScript(
      "trap : USR1\n"
      "(trap 'echo >told; exit' USR1; echo >ready; stay) &\n"
      "soon exists ready; kill -USR1 $PPID; soon exists told; exit 9");
  EXPECT_EQ(end.exit_code, 9);
}

TEST_F(ChildProcessTest, HearsAStopSignalAlsoWhileItIsStopped) {
  const ChildEnd end = RunScript(
      "(soon grep -q 'State:.T' /proc/$$/status; kill -TERM $PPID) &\n"
      "trap 'exit 7' TERM; kill -STOP $$; stay");
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.stopped_by, SIGTERM);
}

TEST_F(ChildProcessTest, GetsSignalsAlsoIfItHasLeftItsGroup) {
  EXPECT_EQ(RunArgv({"perl", "-e",
                     "$SIG{TERM} = sub { exit 7 }; setpgrp(0, getpgrp(getppid()));"
                     "kill('TERM', getppid()); sleep(300)"})
                ->exit_code,
            7);
}

TEST_F(ChildProcessTest, WhichIgnoresStopSignalsIsKilledWithItsGroupOnceItsTimeIsOver) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  command_.stop_timeout = milliseconds(100);
  const MonotonicTime begun = steady_clock::now();
  const ChildEnd end = RunScript(
      "trap '' TERM\n"
      "sleep 300 & echo $! >grandchild\n"
      "kill -TERM $PPID; wait");
  EXPECT_GE(steady_clock::now() - begun, command_.stop_timeout);
  EXPECT_EQ(end.exit_code, 137);
  EXPECT_EQ(end.killed_by, SIGKILL);
  EXPECT_EQ(end.stopped_by, SIGTERM);
  const pid_t grandchild = ReadPid("grandchild");
  ASSERT_GT(grandchild, 0);
  int status = SIGKILL;  // unless it was reaped as an orphan already
  waitpid(grandchild, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(kill(grandchild, 0), -1);
}

TEST_F(ChildProcessTest, LosesNoSignalThatComesAtItsEnd) {
  for (int i = 0; i < 100; ++i) {
    const ChildEnd end = RunScript("kill -TERM $PPID & exit 5");
    // What wasn't told is still to come.
    if (!end.stopped_by) {
      EXPECT_EQ(TakeWithin(minutes(1)), SIGTERM);
    }
    EXPECT_EQ(TakeWithin(milliseconds(0)), std::nullopt);
  }
}

TEST_F(ChildProcessTest, TellsEachSignalThatCameBeforeItEnded) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(RunScript("trap '' TERM; kill -TERM $PPID; exit 5").stopped_by, SIGTERM);
  }
}

// --- Others

TEST_F(ChildProcessTest, LeavesItsGroupBehindAsAShellDoes) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ChildEnd end = RunScript(
      "(trap '' TERM; exec sleep 300) & echo $! >orphan\n"
      "soon grep -q sleep /proc/$!/comm; trap 'exit 7' TERM; kill -TERM $PPID; stay");
  EXPECT_EQ(end.exit_code, 7);
  const pid_t orphan = ReadPid("orphan");
  ASSERT_GT(orphan, 0);
  EXPECT_EQ(waitpid(orphan, nullptr, WNOHANG), 0) << "it runs, and is ours";
  kill(orphan, SIGKILL);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(AwaitStop(signals_), SIGTERM);
  waitpid(orphan, nullptr, 0);
}

TEST_F(ChildProcessTest, ItsOrphansAreReaped) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Without us the orphan would stay a zombie, and the child would wait for ever.
  EXPECT_EQ(RunScript("for begin in sh 'setsid sh'; do\n"
                      "  orphan=$($begin -c 'sh -c \"exit 3\" & echo $!')\n"
                      "  soon is_gone $orphan\n"
                      "done; exit 4")
                .exit_code,
            4);
}

TEST_F(ChildProcessTest, ItsOrphansAreReapedAfterItsEnd) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // The orphan outlives the child. Another, which is reaped after it, then sends the signal.
  RunScript(
      "us=$PPID\n"
      "(soon exists ended) & orphan=$!\n"
      "(soon is_gone $orphan; kill -INT $us) & exit 0");
  directory_.Write("ended", "");
  EXPECT_EQ(AwaitStop(signals_), SIGINT);
}

TEST_F(ChildProcessTest, LeavesTheChildrenOfOthersAlone) {
  std::latch ours_ended(1);
  std::jthread other([&] {
    pid_t child = 0;
    std::array<std::string, 3> argv = {"sh", "-c", "exit 5"};
    std::array<char*, 4> pointers = {argv[0].data(), argv[1].data(), argv[2].data(), nullptr};
    EXPECT_EQ(posix_spawnp(&child, "sh", nullptr, nullptr, pointers.data(), environ), 0);
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    directory_.Write("ended", "");
    ours_ended.wait();
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 5);
  });
  // The other's child has ended before ours do.
  RunScript("soon exists ended; exit 0");
  EXPECT_EQ(RunScript("exit 6").exit_code, 6);
  ours_ended.count_down();
}

// --- With a terminal

// Runs `act` in a session of its own, whose terminal is a pseudo terminal; it ends with what that
// returns.
class Session {
 public:
  explicit Session(const std::function<int()>& act) {
    EXPECT_EQ(openpty(&terminal_, &its_end_, nullptr, nullptr, nullptr), 0);
    process_ = fork();
    if (process_ == 0) {
      alarm(kLongestSeconds);
      close(terminal_);
      login_tty(its_end_);
      _exit(act());
    }
  }
  ~Session() {
    close(its_end_);
    close(terminal_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Type(const std::string& text) const {
    EXPECT_EQ(write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Whether it is on the screen, sooner or later.
  bool Shows(const std::string& text) {
    while (screen_.find(text) == std::string::npos) {
      pollfd readable{terminal_, POLLIN, 0};
      char piece[1024];
      const ssize_t count =
          poll(&readable, 1, 30'000) == 1 ? read(terminal_, piece, sizeof piece) : 0;
      if (count <= 0) return false;
      screen_.append(piece, static_cast<std::size_t>(count));
    }
    return true;
  }
  // Returns the exit code.
  int End() const {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  pid_t process_ = -1;
  int terminal_ = -1;
  int its_end_ = -1;  // What is on the screen could be lost if the session's end closed it.
  std::string screen_;
};

bool HasTerminal() { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

int RunAtTerminal(const std::vector<std::string>& argv) {
  SignalSource signals(kChildSignals);
  const auto end = RunChild({argv, {}, {}, minutes(10)}, signals);
  return end ? end->exit_code : end.error().exit_code;
}

int RunScriptAtTerminal(const std::string& script) { return RunAtTerminal({"sh", "-c", script}); }

class TerminalTest : public testing::Test {
 protected:
  TerminalTest() { alarm(kLongestSeconds); }
  ~TerminalTest() override { alarm(0); }
};

TEST_F(TerminalTest, IsTheChildsUntilItEnds) {
  Session session([] {
    const int code = RunScriptAtTerminal("echo begun; read line; echo got $line; exit 5");
    return code == 5 && HasTerminal() ? 0 : 1;
  });
  EXPECT_TRUE(session.Shows("begun"));
  session.Type("text\n");
  EXPECT_TRUE(session.Shows("got text")) << session.screen();
  EXPECT_EQ(session.End(), 0);
}

TEST_F(TerminalTest, IsOursAgainIfTheCommandDoesNotExist) {
  Session session(
      [] { return RunAtTerminal({"no-such-command"}) == 127 && HasTerminal() ? 0 : 1; });
  EXPECT_EQ(session.End(), 0);
}

TEST_F(TerminalTest, SendsItsInterruptToTheChild) {
  Session session([] {
    SignalSource signals(kChildSignals);
    const auto end =
        RunChild({{"sh", "-c", "echo begun; read line"}, {}, {}, minutes(10)}, signals);
    return end->killed_by == SIGINT && !end->stopped_by && HasTerminal() ? 0 : 1;
  });
  EXPECT_TRUE(session.Shows("begun"));
  session.Type("\x03");
  EXPECT_EQ(session.End(), 0);
}

TEST_F(TerminalTest, DoesNotStopTheChildWhereNobodyCouldContinueUs) {
  // A session's leader is nobody's job, as PID 1 of a container.
  Session session(
      [] { return RunScriptAtTerminal("trap 'exit 5' CONT; kill -STOP $$; read line"); });
  EXPECT_EQ(session.End(), 5);
}

// Runs the script in a job, as a shell would: in a process group of its own.
class Job {
 public:
  Job(const std::string& script, bool in_foreground) : process_(fork()) {
    if (process_ == 0) {
      setpgid(0, 0);
      if (in_foreground) MakeForeground();
      _exit(RunScriptAtTerminal(script));
    }
    setpgid(process_, process_);
  }
  void MakeForeground() const {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTTOU);
    sigprocmask(SIG_BLOCK, &mask, nullptr);
    tcsetpgrp(STDIN_FILENO, process_ == 0 ? getpgrp() : process_);
    sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  }
  bool IsStopped() const {
    int status = 0;
    return waitpid(process_, &status, WUNTRACED) == process_ && WIFSTOPPED(status);
  }
  void ContinueInForeground() const {
    MakeForeground();
    kill(-process_, SIGCONT);
  }
  void Continue() const { kill(-process_, SIGCONT); }
  int End() const {
    int status = 0;
    return waitpid(process_, &status, 0) == process_ && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                          : -1;
  }
  bool HasTerminal() const { return tcgetpgrp(STDIN_FILENO) == process_; }

 private:
  const pid_t process_;
};

TEST_F(TerminalTest, StopsUsWithTheChildAndWhoContinuesUsContinuesIt) {
  Session session([] {
    const Job job("echo begun; read line; echo got $line; exit 5", true);
    if (!job.IsStopped() || !job.HasTerminal()) return 1;
    job.ContinueInForeground();
    return job.End() == 5 && job.HasTerminal() ? 0 : 2;
  });
  EXPECT_TRUE(session.Shows("begun"));
  session.Type("\x1a");
  session.Type("text\n");
  EXPECT_TRUE(session.Shows("got text")) << session.screen();
  EXPECT_EQ(session.End(), 0);
}

TEST_F(TerminalTest, IsLeftAloneByAJobInTheBackground) {
  Session session([] {
    // The child may not read, so it is stopped, until the job is in the foreground.
    const Job job("read line; echo got $line; exit 5", false);
    if (!job.IsStopped() || !HasTerminal()) return 1;
    job.Continue();
    if (!job.IsStopped() || !HasTerminal()) return 2;
    job.ContinueInForeground();
    return job.End() == 5 && job.HasTerminal() ? 0 : 3;
  });
  session.Type("text\n");
  EXPECT_TRUE(session.Shows("got text")) << session.screen();
  EXPECT_EQ(session.End(), 0);
}

}  // namespace
}  // namespace cluster_watcher
