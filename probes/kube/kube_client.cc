#include "probes/kube/kube_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "probes/kube/look_reads.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostPages = 1000;
constexpr std::size_t kMostDates = 64;  // of connections that may be gone

// Lets the next pages of a list be half as large; false if each has one object already.
bool HalvePages(ApiRequest& list) {
  constexpr std::string_view kLimit = "limit=";
  std::string& target = list.http.target;
  const std::size_t at = target.find(kLimit);
  if (at == std::string::npos) return false;
  const std::size_t begin = at + kLimit.size();
  const std::size_t size = std::min(target.find('&', begin), target.size()) - begin;
  const int limit = std::atoi(target.substr(begin, size).c_str());
  if (limit <= 1) return false;
  target.replace(begin, size, std::to_string(limit / 2));
  // An object may be larger than a page should be.
  if (limit / 2 == 1) list.http.body_limit = HttpRequest().body_limit;
  return true;
}

ApiRequest PageAfter(const ApiRequest& list, const std::string& token) {
  ApiRequest page = list;
  if (!token.empty()) page.http.target += "&continue=" + PercentEncode(token);
  return page;
}

}  // namespace

KubeClient::KubeClient(Transport& transport, TokenSource& tokens, RequestObserver observer)
    : transport_(transport), tokens_(tokens), observer_(std::move(observer)) {}

std::vector<HttpResult> KubeClient::Send(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         bool retry) {
  auto token = tokens_.Token(patience.stop());
  if (!token) {
    const auto kind = patience.stop().stop_requested() ? TransportError::Kind::kStopped
                                                       : TransportError::Kind::kConnect;
    return std::vector<HttpResult>(requests.size(),
                                   Unexpected{TransportError{kind, token.error().message, false}});
  }
  std::vector<HttpRequest> http;
  http.reserve(requests.size());
  for (const ApiRequest& request : requests) {
    http.push_back(request.http);
    http.back().bearer_token = *token;
    http.back().may_send = patience.may_send();
  }
  // Small batches let the observer see signs of life even if every request hangs until its timeout.
  const std::size_t piece =
      (patience.EndsWithTimeout() ? 1 : 2) * std::max<std::size_t>(concurrency, 1);
  std::vector<HttpResult> results;
  results.reserve(http.size());
  while (results.size() < http.size()) {
    const std::size_t first = results.size();
    if (const TransportError* timed_out = patience.timed_out()) {
      TransportError unsent = *timed_out;
      unsent.may_have_arrived = false;
      results.resize(http.size(), Unexpected{std::move(unsent)});
      break;
    }
    const std::size_t size = std::min(http.size() - first, piece);
    for (HttpResult& result :
         transport_.Perform(std::span(http).subspan(first, size), concurrency, patience.stop())) {
      const auto failure = result ? ApiFailure::kUnexpected : FailureOf(result.error().kind);
      if (failure != ApiFailure::kStopped && failure != ApiFailure::kNotSent) {
        const HttpRequest& request = http[results.size()];
        observer_({request.method, request.target, result ? result->status : 0,
                   result ? result->elapsed : std::chrono::microseconds(0), retry});
      }
      if (!result) patience.Note(result.error());
      if (result) NoteDate(*result, patience);
      results.push_back(std::move(result));
    }
  }
  return results;
}

void KubeClient::NoteDate(const HttpResponse& response, const Patience& patience) {
  if (!response.date || response.connection == 0) return;
  if (dates_.size() >= kMostDates && !dates_.contains(response.connection)) dates_.clear();
  auto& last = dates_.try_emplace(response.connection, *response.date).first->second;
  // One clock doesn't go back: a proxy spreads this connection's requests over several servers.
  const bool is_mixed = !last || *response.date < *last - kDateRounding;
  last = is_mixed ? std::nullopt : response.date;
  if (LookReads* reads = patience.reads()) reads->NoteDate(response.connection, *response.date);
}

std::vector<ApiResult> KubeClient::FetchOnce(std::span<const ApiRequest> requests,
                                             std::size_t concurrency, const Patience& patience,
                                             bool retry) {
  auto results = Send(requests, concurrency, patience, retry);
  auto unauthorized = [](const HttpResult& result) { return result && result->status == 401; };
  if (std::any_of(results.begin(), results.end(), unauthorized) &&
      tokens_.Refresh(patience.stop())) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!unauthorized(results[i])) continue;
      HttpResult again = std::move(Send(requests.subspan(i, 1), 1, patience, true).front());
      const bool is_sent = again || again.error().kind != TransportError::Kind::kNotSent;
      if (is_sent) results[i] = std::move(again);
    }
  }
  std::vector<ApiResult> answers;
  answers.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    answers.push_back(Interpret(requests[i], std::move(results[i]), &last_glance_));
  }
  return answers;
}

std::vector<ApiResult> KubeClient::Fetch(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         RetryAfter retry_after) {
  auto answers = FetchOnce(requests, concurrency, patience, false);
  LookReads* const reads = patience.reads();
  for (int repeats = 0; reads != nullptr && patience.timed_out() == nullptr; ++repeats) {
    std::vector<std::size_t> failed;
    std::vector<ApiRequest> again;
    Duration asked{0};
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] || !answers[i].error().may_repeat_at_once) continue;
      if (requests[i].http.method != HttpMethod::kGet) continue;
      failed.push_back(i);
      again.push_back(requests[i]);
      asked = std::max(asked, answers[i].error().retry_after.value_or(Duration(0)));
    }
    if (failed.empty() || !reads->WaitToRepeat(repeats, asked, patience.stop())) break;
    auto repeated = FetchOnce(again, concurrency, patience, true);
    for (std::size_t i = 0; i < failed.size(); ++i) answers[failed[i]] = std::move(repeated[i]);
  }
  for (const ApiResult& answer : answers) {
    if (retry_after == RetryAfter::kNote && !answer && answer.error().retry_after) {
      retry_after_ = std::max(retry_after_, *answer.error().retry_after);
    }
  }
  return answers;
}

void KubeClient::ReadAhead(std::span<const ApiRequest> requests, std::size_t concurrency,
                           const Patience& patience) {
  LookReads* const reads = patience.reads();
  if (reads == nullptr) return;
  auto answers = Fetch(requests, concurrency, patience, RetryAfter::kNote);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    reads->Keep(requests[i], std::move(answers[i]));
  }
}

std::vector<ApiResult> KubeClient::DoAll(std::span<const ApiRequest> requests,
                                         std::size_t concurrency, const Patience& patience,
                                         RetryAfter retry_after) {
  LookReads* const reads = patience.reads();
  if (reads == nullptr) return Fetch(requests, concurrency, patience, retry_after);
  std::vector<std::optional<ApiResult>> ahead;
  std::vector<ApiRequest> missing;
  for (const ApiRequest& request : requests) {
    reads->NoteAsked(request);
    ahead.push_back(reads->Take(request));
    if (!ahead.back()) missing.push_back(request);
  }
  auto fetched = Fetch(missing, concurrency, patience, retry_after);
  auto next = fetched.begin();
  std::vector<ApiResult> answers;
  answers.reserve(requests.size());
  for (auto& answer : ahead) answers.push_back(answer ? *std::move(answer) : std::move(*next++));
  return answers;
}

Duration KubeClient::TakeRetryAfter() { return std::exchange(retry_after_, Duration(0)); }

ApiResult KubeClient::Do(const ApiRequest& request, const Patience& patience) {
  return std::move(DoAll(std::span(&request, 1), 1, patience).front());
}

Result<bool, ApiError> KubeClient::SearchPages(const ApiRequest& first, ApiResult page,
                                               const std::function<bool(JsonValue)>& is_it,
                                               const Patience& patience) {
  ApiRequest list = first;
  std::string after;  // what the current page continues
  // The bound is for a server that repeats a page forever.
  for (std::size_t pages = 0; pages < kMostPages; ++pages) {
    while (!page && page.error().too_large && HalvePages(list)) {
      page = Do(PageAfter(list, after), patience);
    }
    if (!page) return Unexpected{std::move(page).error()};
    after = page->document.root()["metadata"]["continue"].AsString().value_or("");
    for (JsonValue item : page->document.root()["items"].Elements()) {
      if (is_it(item)) return true;
    }
    if (after.empty()) return false;
    page = ApiAnswer{};  // two may take megabytes
    page = Do(PageAfter(list, after), patience);
  }
  return Fail(ApiFailure::kUnexpected, first, "the list has no end");
}

Result<Done, ApiError> KubeClient::EachItem(const ApiRequest& first,
                                            const std::function<void(JsonValue)>& show,
                                            const Patience& patience) {
  const auto show_all = [&](JsonValue item) {
    show(item);
    return false;
  };
  auto read = AnyItem(first, show_all, patience);
  if (!read) return Unexpected{std::move(read).error()};
  return Done{};
}

Result<bool, ApiError> KubeClient::AnyItem(const ApiRequest& first,
                                           const std::function<bool(JsonValue)>& is_it,
                                           const Patience& patience) {
  return SearchPages(first, Do(first, patience), is_it, patience);
}

std::vector<Result<Done, ApiError>> KubeClient::EachItemSideBySide(
    std::span<const ApiRequest> firsts, std::size_t concurrency,
    const std::function<void(std::size_t which, JsonValue item)>& show, const Patience& patience) {
  auto first_pages = DoAll(firsts, concurrency, patience);
  std::vector<Result<Done, ApiError>> read;
  read.reserve(firsts.size());
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const auto show_all = [&](JsonValue item) {
      show(i, item);
      return false;
    };
    auto pages = SearchPages(firsts[i], std::move(first_pages[i]), show_all, patience);
    read.push_back(pages ? Result<Done, ApiError>(Done{}) : Unexpected{std::move(pages).error()});
  }
  return read;
}

}  // namespace cluster_watcher
