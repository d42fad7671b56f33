#include "test/adversary/liar.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <utility>

namespace cluster_watcher::adversary {
namespace {

using rapidjson::Document;
using rapidjson::Value;

constexpr std::size_t kMostRecorded = 512;
constexpr std::array kStatuses = {200, 201, 204, 206, 302, 400, 401, 403, 404,
                                  408, 409, 410, 429, 500, 502, 503, 504};
constexpr std::array kKinds = {"Status", "PodList", "DeploymentList", "GizmoList", "Deployment",
                               "Gizmo",  "Scale",   "List",           "",          "JobList"};
constexpr std::array kVersions = {
    "v1", "apps/v1", "batch/v1", "example.com/v1", "meta.k8s.io/v1", "apps/v1beta1", ""};
constexpr std::array kNames = {"bob", "gone", "alice", "spark-m", "", "lab", "drivers"};

std::string Text(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

// Returns the member, created if it is missing.
Value& MemberOf(Value& object, const char* key, Document& document) {
  if (!object.IsObject()) object.SetObject();
  auto found = object.FindMember(key);
  if (found == object.MemberEnd()) {
    object.AddMember(Value(key, document.GetAllocator()), Value(rapidjson::kObjectType),
                     document.GetAllocator());
    found = object.FindMember(key);
  }
  return found->value;
}

std::string StatusBody(const std::string& reason, const std::string& name, const std::string& kind,
                       const std::string& group, int code) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m",)"
         R"("reason":")" +
         reason + R"(","details":{"name":")" + name + R"(","group":")" + group + R"(","kind":")" +
         kind + R"("},"code":)" + std::to_string(code) + "}";
}

}  // namespace

std::vector<HttpResult> Liar::Perform(std::span<const HttpRequest> requests,
                                      std::size_t concurrency, std::stop_token stop) {
  std::vector<HttpResult> results = truth_.Perform(requests, concurrency, stop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ++answers_;
    if (refuses_lists_ && requests[i].target.find("?fieldSelector=") != std::string::npos) {
      results[i] = HttpResponse{
          403, "application/json", StatusBody("Forbidden", "", "", "", 403), {}, {}, {}};
    }
    const HttpResult truth = results[i];
    if (once_in_ > 0 && Below(once_in_) == 0) results[i] = Lie(truth);
    if (truth && recorded_.size() < kMostRecorded) {
      recorded_.push_back(*truth);
    } else if (truth) {
      recorded_[Below(kMostRecorded)] = *truth;
    }
    heard_.push_back({requests[i], results[i]});
  }
  return results;
}

HttpResult Liar::Lie(HttpResult truth) {
  const auto told = [this](const char* lie) { ++lies_[lie]; };
  if (!truth || Below(16) == 0) {
    told("no answer");
    constexpr std::array kErrors = {TransportError::Kind::kConnect, TransportError::Kind::kTimeout,
                                    TransportError::Kind::kTls, TransportError::Kind::kTooLarge};
    return Unexpected{TransportError{kErrors[Below(kErrors.size())], "no answer"}};
  }
  HttpResponse answer = *std::move(truth);
  switch (Below(10)) {
    case 0:
      told("another status");
      answer.status = kStatuses[Below(kStatuses.size())];
      break;
    case 1:
      told("HTML");
      answer.body = "<html><body>404 not found</body></html>";
      answer.content_type = Below(2) == 0 ? "text/html" : "application/json";
      break;
    case 2:
      told("another content type");
      answer.content_type = Below(2) == 0 ? "text/plain" : "";
      break;
    case 3:
      told("cut");
      answer.body.resize(Below(answer.body.size() + 1));
      break;
    case 4:
    case 5:
      told("damaged bytes");
      DamageBytes(answer.body);
      break;
    case 6:
    case 7:
      told("damaged JSON");
      for (std::uint64_t i = Below(3) + 1; i > 0; --i) DamageJson(answer.body);
      break;
    case 8:
      told("another request's answer");
      if (!recorded_.empty()) answer = recorded_[Below(recorded_.size())];
      break;
    default: {
      told("a Status");
      constexpr std::array kReasons = {"NotFound", "Forbidden", "Expired", "", "notfound"};
      constexpr std::array kPlurals = {"deployments", "gizmos", "pods", "Deployment", ""};
      constexpr std::array kGroups = {"apps", "", "example.com", "batch"};
      const int status = kStatuses[Below(kStatuses.size())];
      answer.status = Below(2) == 0 ? 404 : status;
      answer.content_type = "application/json";
      answer.body = StatusBody(kReasons[Below(kReasons.size())], kNames[Below(kNames.size())],
                               kPlurals[Below(kPlurals.size())], kGroups[Below(kGroups.size())],
                               Below(2) == 0 ? 404 : status);
      break;
    }
  }
  return answer;
}

void Liar::DamageBytes(std::string& body) {
  for (std::uint64_t i = Below(4) + 1; i > 0 && !body.empty(); --i) {
    const std::size_t at = Below(body.size());
    switch (Below(4)) {
      case 0:
        body[at] = static_cast<char>(Below(256));
        break;
      case 1:
        body.erase(at, Below(8) + 1);
        break;
      case 2:
        body.insert(at, body.substr(Below(body.size()), Below(16)));
        break;
      default:
        body[at] = "{}[]\",:0nul "[Below(12)];
        break;
    }
  }
}

void Liar::DamageJson(std::string& body) {
  Document document;
  document.Parse(body.data(), body.size());
  if (document.HasParseError() || !document.IsObject()) return;
  auto& allocator = document.GetAllocator();
  const auto text = [&](const char* value) { return Value(value, allocator); };
  Value& metadata = MemberOf(document, "metadata", document);
  switch (Below(16)) {
    case 0:
      MemberOf(document, "kind", document) = text(kKinds[Below(kKinds.size())]);
      break;
    case 1:
      MemberOf(document, "apiVersion", document) = text(kVersions[Below(kVersions.size())]);
      break;
    case 2:
      MemberOf(document, "items", document).SetNull();
      break;
    case 3:
      MemberOf(document, "items", document).SetArray();
      break;
    case 4:
      document.RemoveMember("items");
      break;
    case 5:
      document.RemoveMember("metadata");
      break;
    case 6:
      MemberOf(metadata, "continue", document) = text(Below(2) == 0 ? "more" : "");
      break;
    case 7:
      MemberOf(metadata, "resourceVersion", document) = text(Below(2) == 0 ? "1" : "");
      break;
    case 8:
      MemberOf(metadata, "name", document) = text(kNames[Below(kNames.size())]);
      break;
    case 9:
      MemberOf(metadata, "namespace", document) = text(kNames[Below(kNames.size())]);
      break;
    case 10:
      MemberOf(metadata, "uid", document) = text("u-another");
      break;
    case 11:
      MemberOf(document, "items", document).SetObject();
      break;
    default: {
      auto items = document.FindMember("items");
      if (items == document.MemberEnd() || !items->value.IsArray() || items->value.Empty()) {
        MemberOf(document, "spec", document).SetObject();
        break;
      }
      Value& item = items->value[0];
      switch (Below(4)) {
        case 0:
          items->value.PushBack(Value(item, allocator), allocator);
          break;
        case 1:
          item.SetObject();
          break;
        case 2:
          MemberOf(MemberOf(item, "metadata", document), "name", document) =
              text(kNames[Below(kNames.size())]);
          break;
        default:
          MemberOf(MemberOf(item, "metadata", document), "namespace", document) =
              text(kNames[Below(kNames.size())]);
          break;
      }
      break;
    }
  }
  body = Text(document);
}

}  // namespace cluster_watcher::adversary
