// Fuzzes kubeconfigs: every file gives an error that names it, or an API server that can be asked.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "probes/kube/api_server.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

// A file in a directory of its own, to which its paths are relative.
class File {
 public:
  File() {
    std::string name = (std::filesystem::temp_directory_path() / "kubeconfig-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
    file_ = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) std::abort();
  }
  ~File() {
    close(file_);
    std::filesystem::remove_all(directory_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return directory_ + "/config"; }
  void Write(std::string_view text) const {
    if (pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ftruncate(file_, static_cast<off_t>(text.size())) != 0) {
      std::abort();
    }
  }

 private:
  std::string directory_;
  int file_ = -1;
};

bool IsVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

void Check(const Result<ApiServer>& server, const std::string& path) {
  if (!server) {
    Require(server.error().message.find(path) != std::string::npos, "an error names the file");
    return;
  }
  Require(server->url.starts_with("https://") || server->url.starts_with("http://"),
          "the URL has a scheme that is known");
  Require(IsVisible(server->url) && !server->url.ends_with('/'), "the URL can be asked");
  Require(server->client_certificate_pem.empty() == server->client_key_pem.empty(),
          "a certificate has a key");
  Require(!server->insecure_skip_tls_verify || server->ca_pem.empty(),
          "certificates are trusted, or nothing is verified");
  Require(IsVisible(server->token), "the token can stand in a header");
  Require(server->source.find(path) != std::string::npos, "the source names the file");
}

}  // namespace

void TryInput(std::string_view input) {
  static const File file;
  file.Write(input);
  const auto nothing = [](const std::string&) { return std::nullopt; };
  Check(FindApiServer(file.path(), "", nothing), file.path());
  // Merged with itself it stays the same.
  const auto listed = [](const std::string& name) {
    return name == "KUBECONFIG" ? std::optional(file.path() + ":" + file.path()) : std::nullopt;
  };
  Check(FindApiServer("", "dev", listed), file.path());
}

}  // namespace cluster_watcher
