// A credential plugin that a test writes: a shell script.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>

#include "probes/base/json.h"
#include "probes/kube/exec_authenticator.h"
#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {

// Counts its runs, and answers what it was told last.
class Plugin {
 public:
  Plugin() { Script("cat \"$dir/answer\""); }

  static constexpr const char* kVersion = "client.authentication.k8s.io/v1";

  // `status` is what stands between the braces, JSON.
  void Give(const std::string& status) const {
    directory_.Write("answer", std::string(R"({"kind": "ExecCredential", "apiVersion": ")") +
                                   kVersion + R"(", "status": {)" + status + "}}");
  }
  void GiveToken(const std::string& token) const { Give("\"token\": \"" + token + "\""); }
  void GiveCertificate(const std::string& certificate, const std::string& key) const {
    Give("\"clientCertificateData\": " + Json(certificate) + ", \"clientKeyData\": " + Json(key));
  }

  // Does this from now on; $dir is Path().
  void Script(const std::string& text) const {
    directory_.Write("plugin", "#!/bin/sh\ndir='" + directory_.Path() +
                                   "'\necho >>\"$dir/runs\"\n" + text + "\n");
    chmod(Path("plugin").c_str(), 0700);
  }
  std::string Path(const std::string& name = "") const { return directory_.Path(name); }
  std::string Read(const std::string& name) const { return directory_.Read(name); }
  auto Runs() const {
    const std::string runs = Read("runs");
    return std::count(runs.begin(), runs.end(), '\n');
  }

  ExecConfig Config() const {
    ExecConfig config;
    config.api_version = kVersion;
    config.command = Path("plugin");
    config.interactive_mode = InteractiveMode::kNever;
    config.source = "kubeconfig /a/config, user \"bob\"";
    return config;
  }
  std::shared_ptr<ExecAuthenticator> Authenticator() const {
    return std::make_shared<ExecAuthenticator>(Config());
  }

 private:
  static std::string Json(const std::string& text) { return JsonWriter().String(text).Text(); }

  const TemporaryDirectory directory_;
};

}  // namespace cluster_watcher
