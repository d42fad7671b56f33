#include "probes/base/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

using Kind = ProgramFailure::Kind;

class RunProgramTest : public testing::Test {
 protected:
  // Returns the path of an executable shell script.
  std::string Script(const std::string& text, const std::string& name = "script") const {
    const std::string path = directory_.Write(name, "#!/bin/sh\n" + text);
    chmod(path.c_str(), 0700);
    return path;
  }
  std::string Fifo() const {
    const std::string path = directory_.Path("fifo");
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  static Result<ProgramEnd, ProgramFailure> Run(std::vector<std::string> arguments) {
    Program program;
    program.arguments = std::move(arguments);
    return RunProgram(program);
  }
  static std::string Output(const Result<ProgramEnd, ProgramFailure>& end) {
    return end ? end->output : "failed: " + end.error().message;
  }
  static void ExpectFailure(const Result<ProgramEnd, ProgramFailure>& end, Kind kind,
                            const std::string& text) {
    ASSERT_FALSE(end) << end->output;
    EXPECT_EQ(end.error().kind, kind) << end.error().message;
    EXPECT_NE(end.error().message.find(text), std::string::npos) << end.error().message;
  }

  const TemporaryDirectory directory_;
};

// A descriptor of this process that is another one while the object lives.
class Replaced {
 public:
  Replaced(int number, int by) : number_(number), before_(dup(number)) { dup2(by, number); }
  ~Replaced() {
    if (before_ < 0) {
      close(number_);
      return;
    }
    dup2(before_, number_);
    close(before_);
  }

 private:
  const int number_;
  const int before_;
};

// A FIFO that programs write to, read here.
class FifoReader {
 public:
  explicit FifoReader(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FifoReader() { close(file_); }
  // Returns what is written next; "" once nobody has it open any more, "?" if that takes too long.
  std::string Read() const {
    pollfd event{file_, POLLIN, 0};
    if (poll(&event, 1, 20'000) != 1) return "?";
    char text[64];
    const ssize_t count = read(file_, text, sizeof text);
    return {text, count < 0 ? 0 : static_cast<std::size_t>(count)};
  }

 private:
  const int file_;
};

TEST_F(RunProgramTest, ReturnsTheOutputAndHowItEnded) {
  const auto code = Run({Script("echo out; echo err >&2; exit 3")});
  EXPECT_EQ(Output(code), "out\n");
  EXPECT_EQ(code->exit_code, 3);
  EXPECT_EQ(code->signal, 0);
  const auto signal = Run({Script("echo half; kill -KILL $$")});
  EXPECT_EQ(Output(signal), "half\n");
  EXPECT_EQ(signal->signal, SIGKILL);
}

TEST_F(RunProgramTest, ReadsALongOutputWhole) {
  const auto end = Run({Script("head -c 1048576 /dev/zero")});
  EXPECT_EQ(Output(end).size(), 1u << 20);
  ExpectFailure(Run({Script("head -c 1048577 /dev/zero")}), Kind::kTooMuchOutput, "1048576");
  ExpectFailure(Run({Script("exec yes")}), Kind::kTooMuchOutput, "script");
}

TEST_F(RunProgramTest, PassesArgumentsWithoutAShell) {
  EXPECT_EQ(Output(Run({Script("printf '[%s]' \"$@\""), "a b", "$(id)", "", "*;'\""})),
            "[a b][$(id)][][*;'\"]");
  const std::string no_script = directory_.Write("text", "echo from a shell\n");
  chmod(no_script.c_str(), 0700);
  ExpectFailure(Run({no_script}), Kind::kNotStarted, no_script);
}

TEST_F(RunProgramTest, LooksItUpInTheDirectoriesOfPath) {
  const std::string before = std::getenv("PATH");
  Script("echo second", "b/tool");
  directory_.Write("a/tool", "not executable");
  Script("echo found", "tool");
  setenv("PATH", (directory_.Path("a") + "::.:" + directory_.Path("b")).c_str(), 1);
  EXPECT_EQ(Output(Run({"tool"})), "second\n");
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(directory_.Path());
  setenv("PATH", ".::a", 1);
  ExpectFailure(Run({"tool"}), Kind::kNotFound, "tool is not in PATH");
  EXPECT_EQ(Output(Run({"./tool"})), "found\n");
  unsetenv("PATH");
  ExpectFailure(Run({"tool"}), Kind::kNotFound, "tool is not in PATH");
  std::filesystem::current_path(here);
  setenv("PATH", before.c_str(), 1);
}

TEST_F(RunProgramTest, SaysWhyItCantBeStarted) {
  ExpectFailure(Run({directory_.Path("none")}), Kind::kNotFound, directory_.Path("none"));
  ExpectFailure(Run({directory_.Write("file", "#!/bin/sh\n")}), Kind::kNotStarted,
                "Permission denied");
  ExpectFailure(Run({directory_.Path()}), Kind::kNotStarted, directory_.Path());
  const std::string lost = directory_.Write("lost", "#!/no/such/shell\n");
  chmod(lost.c_str(), 0700);
  ExpectFailure(Run({lost}), Kind::kNotStarted, "interpreter");
  ExpectFailure(Run({}), Kind::kNotFound, "no program");
  ExpectFailure(Run({""}), Kind::kNotFound, "PATH");
}

TEST_F(RunProgramTest, AddsToOurEnvironment) {
  setenv("RUN_PROGRAM_OURS", "ours", 1);
  setenv("RUN_PROGRAM_BOTH", "ours", 1);
  Program program;
  program.arguments = {"/usr/bin/env"};
  program.environment = {{"RUN_PROGRAM_BOTH", "its"}, {"RUN_PROGRAM_NEW", "a=b\nc"}};
  const std::string output = Output(RunProgram(program));
  EXPECT_NE(output.find("RUN_PROGRAM_OURS=ours\n"), std::string::npos);
  EXPECT_NE(output.find("RUN_PROGRAM_BOTH=its\n"), std::string::npos);
  EXPECT_EQ(output.find("RUN_PROGRAM_BOTH=ours\n"), std::string::npos);
  EXPECT_NE(output.find("RUN_PROGRAM_NEW=a=b\nc\n"), std::string::npos);
}

TEST_F(RunProgramTest, InheritsNoDescriptor) {
  const int open_file = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Output(Run({"/bin/ls", "/proc/self/fd"})), "0\n1\n2\n3\n") << "3 is ls's own";
  close(open_file);
}

TEST_F(RunProgramTest, InheritsNoSignalsThatWeBlockOrIgnore) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&blocked, number);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto disposition = signal(SIGPIPE, SIG_IGN);
  const std::string output = Output(Run({"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  signal(SIGPIPE, disposition);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(output.find("SigBlk:\t0000000000000000\n"), std::string::npos) << output;
  const std::size_t ignored = output.find("SigIgn:\t");
  ASSERT_NE(ignored, std::string::npos) << output;
  const auto set = std::stoull(output.substr(ignored + 8), nullptr, 16);
  EXPECT_EQ(set >> (SIGPIPE - 1) & 1, 0u) << output;
}

TEST_F(RunProgramTest, ReadsOurStandardInputOnlyIfItIsInteractive) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "typed\n", 6), 6);
  close(ends[1]);
  const Replaced standard_input(STDIN_FILENO, ends[0]);
  close(ends[0]);
  EXPECT_EQ(Output(Run({"/bin/cat"})), "");
  Program program;
  program.arguments = {"/bin/cat"};
  program.interactive = true;
  EXPECT_EQ(Output(RunProgram(program)), "typed\n");
}

TEST_F(RunProgramTest, LeadsAProcessGroupUnlessItIsInteractive) {
  Program program;
  program.arguments = {"/bin/sh", "-c", "cut -d' ' -f5 /proc/$$/stat; echo $$"};
  const std::string alone = Output(RunProgram(program));
  EXPECT_EQ(alone.substr(0, alone.find('\n')),
            alone.substr(alone.find('\n') + 1, alone.find('\n')));
  program.interactive = true;
  const std::string ours = Output(RunProgram(program));
  EXPECT_EQ(ours.substr(0, ours.find('\n')), std::to_string(getpgrp()));
}

TEST_F(RunProgramTest, EndsWithTheProgramWhateverKeepsItsOutputOpen) {
  const std::string fifo = Fifo();
  const auto end = Run({Script("cat '" + fifo + "' & echo done")});
  EXPECT_EQ(Output(end), "done\n");
  close(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));  // lets it end
}

TEST_F(RunProgramTest, WaitsForTheEndOfOneThatClosesItsOutput) {
  const auto end = Run({Script("echo all; exec >&-; sh -c 'exit 5'")});
  EXPECT_EQ(Output(end), "all\n");
  EXPECT_EQ(end->exit_code, 5);
}

TEST_F(RunProgramTest, IsKilledWhenItsTimeIsUp) {
  Program program;
  program.arguments = {Script("exec sleep 1000")};
  program.timeout = Duration(100);
  ExpectFailure(RunProgram(program), Kind::kTimeout, "script did not end within 1 s");
}

TEST_F(RunProgramTest, IsToldToEndWhenItIsStopped) {
  const std::string fifo = Fifo();
  std::stop_source source;
  Program program;
  program.arguments = {Script("exec 3>'" + fifo +
                              "'\ntrap 'echo bye >&3; exit' TERM\necho up >&3\n"
                              "while :; do sleep 1000 3>&- & wait; done")};
  std::jthread stopper([&] {
    const FifoReader reader(fifo);
    EXPECT_EQ(reader.Read(), "up\n");
    source.request_stop();
    EXPECT_EQ(reader.Read(), "bye\n");
  });
  ExpectFailure(RunProgram(program, source.get_token()), Kind::kStopped, "script");
}

TEST_F(RunProgramTest, IsKilledWithItsProcessGroupIfItDoesntEnd) {
  const std::string fifo = Fifo();
  std::stop_source source;
  Program program;
  program.arguments = {
      Script("trap '' TERM\nexec 3>'" + fifo + "'\nsleep 1000 &\necho up >&3\nsleep 1000")};
  std::jthread stopper([&] {
    const FifoReader reader(fifo);
    EXPECT_EQ(reader.Read(), "up\n");
    source.request_stop();
    EXPECT_EQ(reader.Read(), "") << "something of it lives";
  });
  ExpectFailure(RunProgram(program, source.get_token()), Kind::kStopped, "script");
}

}  // namespace
}  // namespace cluster_watcher
