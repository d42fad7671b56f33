#include "probes/kube/exec_credential.h"

#include <unistd.h>

#include <sstream>
#include <utility>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "probes/base/read_yaml.h"
#include "probes/base/run_program.h"
#include "probes/base/time_text.h"
#include "probes/kube/certificates.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {
namespace {

constexpr Duration kTimeout = std::chrono::minutes(1);
constexpr Duration kTimeoutWithAPerson = std::chrono::minutes(5);
constexpr const char* kSeeWhy = "; run the plugin by hand to see why, or sign in again";
constexpr const char* kAnotherPlugin = "; use a plugin, or a version of it, that gives this";

Unexpected<Error> Failed(const ExecConfig& config, const std::string& what) {
  return Failure(config.source + ": exec: " + what);
}

// Begins with the plugin's name.
Unexpected<Error> FailedPlugin(const ExecConfig& config, const std::string& what) {
  return Failed(config, config.command + " " + what);
}

// Returns the hint as the end of a line; "" if there is none.
std::string Hint(const ExecConfig& config) {
  std::istringstream words(config.install_hint);
  std::string hint;
  for (std::string word; words >> word;) hint += (hint.empty() ? ": " : " ") + Printable(word);
  return hint;
}

Unexpected<Error> NotRun(const ExecConfig& config, const ProgramFailure& failure) {
  using Kind = ProgramFailure::Kind;
  switch (failure.kind) {
    case Kind::kNotFound:
      return Failed(config,
                    failure.message + "; install the plugin or correct command" + Hint(config));
    case Kind::kNotStarted:
      return Failed(config,
                    failure.message + "; make it a program that can run, or correct command");
    case Kind::kTimeout:
    case Kind::kTooMuchOutput:
      return Failed(config, failure.message + kSeeWhy);
    case Kind::kStopped:
      break;
  }
  return Failed(config, failure.message);
}

// The certificate and its key; both are empty if there is none.
Result<Done> ReadCertificate(const ExecConfig& config, JsonValue status,
                             ExecCredential& credential) {
  credential.client_certificate_pem = status["clientCertificateData"].AsString().value_or("");
  credential.client_key_pem = status["clientKeyData"].AsString().value_or("");
  const bool certificate = !credential.client_certificate_pem.empty();
  if (certificate == credential.client_key_pem.empty()) {
    return FailedPlugin(config, std::string("gave ") +
                                    (certificate ? "clientCertificateData without clientKeyData"
                                                 : "clientKeyData without clientCertificateData") +
                                    kAnotherPlugin);
  }
  if (certificate && !FitTogether(credential.client_certificate_pem, credential.client_key_pem)) {
    return FailedPlugin(config,
                        "gave clientCertificateData and clientKeyData that are not PEM, or do not "
                        "belong together" +
                            std::string(kSeeWhy));
  }
  return Done{};
}

Result<ExecCredential> ReadStatus(const ExecConfig& config, JsonValue status) {
  ExecCredential credential;
  for (const char* key :
       {"token", "clientCertificateData", "clientKeyData", "expirationTimestamp"}) {
    const JsonValue field = status[key];
    if (!field.Exists() || field.IsNull() || field.AsString()) continue;
    return FailedPlugin(config, std::string("gave a ") + key + " that is not a text" + kSeeWhy);
  }
  if (const auto text = status["token"].AsString(); text && !text->empty()) {
    Result<std::string> token = ParseToken(*text);
    if (!token) return FailedPlugin(config, "gave a token that " + token.error().message + kSeeWhy);
    credential.token = *std::move(token);
  }
  if (const auto read = ReadCertificate(config, status, credential); !read) {
    return Unexpected{read.error()};
  }
  if (credential.token.empty() && credential.client_certificate_pem.empty()) {
    return FailedPlugin(config,
                        "gave neither a token nor a client certificate" + std::string(kSeeWhy));
  }
  if (const auto text = status["expirationTimestamp"].AsString()) {
    credential.expires = ParseTime(*text);
    if (!credential.expires) {
      return FailedPlugin(config, "gave an expirationTimestamp that is not a time (RFC 3339): " +
                                      Quoted(*text) + kAnotherPlugin);
    }
  }
  return credential;
}

// Reads JSON where that begins with a brace, else YAML, as kubectl does. nullopt: it is neither, or
// no object.
std::optional<JsonDocument> ReadObject(std::string_view output) {
  std::optional<JsonDocument> document;
  if (output[output.find_first_not_of(kWhiteSpace)] == '{') {
    if (auto json = JsonDocument::Parse(output)) document = *std::move(json);
  } else {
    if (auto yaml = ReadYamlAsJson(output)) document = *std::move(yaml);
  }
  return document && document->root().IsObject() ? document : std::nullopt;
}

}  // namespace

std::string ExecInfo(const ExecConfig& config, bool interactive) {
  JsonWriter info;
  info.StartObject();
  info.Field("kind", "ExecCredential").Field("apiVersion", config.api_version);
  info.Key("spec").StartObject();
  if (!config.cluster.empty()) {
    if (const auto cluster = JsonDocument::Parse(config.cluster)) {
      info.Key("cluster").Value(cluster->root());
    }
  }
  info.Key("interactive").Bool(interactive).EndObject().EndObject();
  return info.Text();
}

Result<ExecCredential> ReadExecCredential(const ExecConfig& config, std::string_view output) {
  const std::string wanted = "an ExecCredential of " + config.api_version;
  if (output.find_first_not_of(kWhiteSpace) == std::string_view::npos) {
    return FailedPlugin(config,
                        "wrote nothing to its standard output, but not " + wanted + kSeeWhy);
  }
  const auto document = ReadObject(output);
  if (!document) {
    return FailedPlugin(
        config, "wrote something that is no object in JSON or YAML, but not " + wanted + kSeeWhy);
  }
  const JsonValue root = document->root();
  const auto kind = root["kind"].AsString().value_or("");
  if (kind != "ExecCredential") {
    return FailedPlugin(
        config, "wrote an object of kind " + Quoted(kind) + ", but not " + wanted + kAnotherPlugin);
  }
  const auto version = root["apiVersion"].AsString().value_or("");
  if (version != config.api_version) {
    return FailedPlugin(config, "answered in apiVersion " + Quoted(version) + ", asked in " +
                                    config.api_version + "; set apiVersion to what it speaks");
  }
  if (!root["status"].IsObject()) {
    return FailedPlugin(config, "wrote an ExecCredential without a status" + std::string(kSeeWhy));
  }
  return ReadStatus(config, root["status"]);
}

Result<ExecCredential> RunExecPlugin(const ExecConfig& config, std::stop_token stop) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (config.interactive_mode == InteractiveMode::kAlways && !terminal) {
    return Failed(config,
                  "interactiveMode is Always, and standard input is not a terminal; run this in a "
                  "terminal, or use a plugin that asks nobody");
  }
  Program program;
  program.arguments = {config.command};
  program.arguments.insert(program.arguments.end(), config.arguments.begin(),
                           config.arguments.end());
  program.interactive = terminal && config.interactive_mode != InteractiveMode::kNever;
  program.environment = config.environment;
  program.environment["KUBERNETES_EXEC_INFO"] = ExecInfo(config, program.interactive);
  program.timeout = program.interactive ? kTimeoutWithAPerson : kTimeout;
  const auto end = RunProgram(program, std::move(stop));
  if (!end) return NotRun(config, end.error());
  if (end->signal != 0) {
    return FailedPlugin(config, "was killed by signal " + std::to_string(end->signal) + kSeeWhy);
  }
  if (end->exit_code != 0) {
    return FailedPlugin(config, "ended with exit code " + std::to_string(end->exit_code) + kSeeWhy);
  }
  return ReadExecCredential(config, end->output);
}

}  // namespace cluster_watcher
