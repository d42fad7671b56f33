#include "watcher/reporting/announcer.h"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr Duration kProposedHold = std::chrono::hours(24);
constexpr Duration kTellAgain = std::chrono::hours(1);

// Returns "checked at resourceVersion 86"; answers that tell none are named: "a 404 for the Pod".
std::string EvidenceText(const std::vector<Evidence>& all) {
  std::vector<std::string> versions;
  std::vector<std::string> others;
  for (const Evidence& one : all) {
    std::vector<std::string>& texts = one.resource_version.empty() ? others : versions;
    const std::string text =
        one.resource_version.empty() ? one.kind + " " + one.finding : one.resource_version;
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  std::string text = versions.empty() ? "" : "checked at resourceVersion " + Joined(versions);
  if (!others.empty()) text += (text.empty() ? "" : ", ") + Joined(others);
  return text;
}

// Rounds for people: to whole seconds, unless that would be 0.
std::string About(Duration duration) {
  const auto seconds = std::chrono::round<std::chrono::seconds>(duration);
  return FormatDuration(seconds.count() > 0 ? seconds : duration);
}

std::string At(WallTime time) { return FormatTime(std::chrono::ceil<std::chrono::seconds>(time)); }

// The detail of an owner that exists has its resourceVersion; that of an absent one needs evidence.
std::string Because(const Snapshot& snapshot, const std::string& detail) {
  const auto& owner = snapshot.facts.owner;
  if (!owner || owner->object || owner->evidence.empty()) return detail;
  std::string text = detail + " (" + EvidenceText(owner->evidence);
  const auto& time = owner->evidence.back().server_time;
  if (time) text += ", " + FormatTime(*time);
  return text + ")";
}

// Returns seconds as a JSON number.
std::string Seconds(Duration duration) {
  return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
}

void AddLook(JsonWriter& line, const Snapshot& snapshot) {
  const Facts& facts = snapshot.facts;
  if (snapshot.root) {
    line.Field("masterRoot", snapshot.root->Describe());
    line.Field("masterRootUID", snapshot.root->meta.uid);
    line.Field("masterRootResourceVersion", snapshot.root->meta.resource_version);
  }
  if (const std::string owner = snapshot.OwnerText(); !owner.empty()) {
    line.Field("owner", owner).Field("ownerNamespace", snapshot.owner_ns);
  }
  if (const std::string uid = snapshot.OwnerUid(); !uid.empty()) line.Field("ownerUID", uid);
  line.Field("observation", facts.ObservationText());
  if (!facts.owner) return;
  if (facts.owner->object) line.Key("replicas").Integer(facts.owner->fields.replicas);
  line.Key("evidence").StartArray();
  for (const Evidence& evidence : facts.owner->evidence) {
    line.StartObject().Field("kind", evidence.kind).Field("finding", evidence.finding);
    line.Field("resourceVersion", evidence.resource_version);
    if (evidence.server_time) line.Field("serverTime", FormatTime(*evidence.server_time));
    line.EndObject();
  }
  line.EndArray();
}

void AddDecision(JsonWriter& line, const Decision& decision) {
  line.Field("verdict", decision.verdict()).Field("reason", ToString(decision.reason));
  line.Field("detail", decision.detail);
}

// Returns the end of a command that annotates something so that it holds.
std::string HoldUntil(WallTime due) {
  return std::string(" --overwrite ") + annotation::kHoldUntil + "=" + At(due + kProposedHold);
}

}  // namespace

std::string HoldCommand(const Snapshot& look, WallTime due) {
  return "kubectl annotate -n " + look.cluster->ns + " " + look.root->Describe() + HoldUntil(due);
}

// The level of a deletion with this reason: none that was meant to come is a warning.
spdlog::level::level_enum Announcer::LevelOf(std::string_view reason) const {
  const bool meant = !asker_.empty() || reason == ToString(Reason::kCompleted);
  return meant ? spdlog::level::info : spdlog::level::warn;
}

void Announcer::Learn(const Snapshot& snapshot) {
  if (!snapshot.cluster) return;
  if (!subject_) subject_.emplace();
  subject_->cluster = *snapshot.cluster;
  if (snapshot.root) subject_->root = snapshot.root;
  if (!snapshot.owner_ns.empty()) subject_->owner_ns = snapshot.owner_ns;
  if (subject_->owner_ns.empty()) subject_->owner_ns = snapshot.cluster->ns;
  if (snapshot.facts.owner) subject_->owner = snapshot.facts.owner->object;
}

std::string Announcer::Name() const {
  if (!subject_) return "The cluster";
  const bool elsewhere = subject_->owner_ns != subject_->cluster.ns;
  return "Cluster " + subject_->cluster.name +
         (elsewhere ? " in namespace " + subject_->cluster.ns : "");
}

std::string Announcer::AskedText(const char* asked) const {
  const std::string by = sweeper_.empty() ? asker_ : "a sweep of " + sweeper_;
  std::string text = by.empty() ? "" : std::string(". ") + asked + " for by " + by;
  if (!begun_) return text;
  text += ". Begun by " + begun_->condemned_by.ToText();
  if (!begun_->reason.empty()) text += " (" + begun_->reason + ")";
  if (begun_->deleting_since) text += " at " + FormatTime(*begun_->deleting_since);
  return text;
}

void Announcer::Write(const Line& line, const Snapshot& snapshot, const Log::Keys& more) {
  Learn(snapshot);
  log_.Write(line.level, line.message, [&](JsonWriter& json) {
    json.Field("decision", line.decision);
    if (subject_) {
      json.Field("namespace", subject_->cluster.ns).Field("cluster", subject_->cluster.name);
    }
    if (const std::string by = asker_ + sweeper_; !by.empty()) json.Field("askedBy", by);
    if (begun_) json.Field("begunBy", begun_->condemned_by.ToText());
    AddLook(json, snapshot);
    const Duration ago = std::chrono::duration_cast<Duration>(clock_.Now() - snapshot.when.began);
    json.Field("lookedAt", FormatTime(clock_.WallNow() - ago));
    more(json);
  });
}

bool Announcer::Record(Audience audience, const Occasion& occasion, const std::string& note,
                       std::stop_token stop) {
  if (!subject_) return false;
  const Regarding owners_namespace = Regarding::Namespace(subject_->owner_ns);
  std::vector<Regarding> regarding = {subject_->owner ? Regarding::Object(*subject_->owner)
                                                      : owners_namespace};
  if (subject_->root && audience != Audience::kSurvivor) {
    regarding.push_back(Regarding::Object(*subject_->root));
  }
  if (subject_->owner && audience == Audience::kAllWhoCare) regarding.push_back(owners_namespace);
  const auto record = [&](const std::vector<Regarding>& about) {
    return events_.Record(about, occasion.type, occasion.reason, occasion.action, note, stop);
  };
  const auto failures = record(regarding);
  bool any = false;
  bool elsewhere = false;
  for (std::size_t i = 0; i < regarding.size(); ++i) {
    any = any || !failures[i];
    // The owner's namespace may be gone with the driver, or the account may not write there.
    const bool refused = failures[i] && !IsTransient(*failures[i]);
    elsewhere = elsewhere || (refused && regarding[i].ns != subject_->cluster.ns);
  }
  if (!elsewhere) return any;
  return !record({Regarding::Namespace(subject_->cluster.ns)}).front() || any;
}

void Announcer::Verdict(const Snapshot& snapshot, const Decision& decision,
                        const std::optional<Abandonment>& abandonment) {
  const bool expected = !decision.abandoned() && decision.reason != Reason::kMisconfigured &&
                        decision.reason != Reason::kUnknown;
  const std::string why =
      decision.abandoned() ? Because(snapshot, decision.detail) : decision.detail;
  std::string message =
      std::string(decision.verdict()) + ": " + ToString(decision.reason) + " (" + why + ")";
  std::string due;
  if (abandonment) {
    due = At(ServerNow(snapshot, clock_) + abandonment->due_in);
    message +=
        (abandonment->dry_run ? "; its deletion would be due " : "; its deletion is due ") + due;
    if (!abandonment->surge.empty()) message += ", no sooner: " + abandonment->surge;
  }
  Write({decision.verdict(), message, expected ? spdlog::level::info : spdlog::level::warn},
        snapshot, [&](JsonWriter& line) {
          AddDecision(line, decision);
          if (!abandonment) return;
          line.Key("confirmations").Integer(abandonment->confirmations);
          line.Field("deletionDue", due);
          if (!abandonment->surge.empty()) line.Field("surge", abandonment->surge);
        });
}

bool Announcer::Warn(const Snapshot& snapshot, const Decision& decision,
                     const Abandonment& abandonment, std::stop_token stop) {
  Learn(snapshot);
  const WallTime due = ServerNow(snapshot, clock_) + abandonment.due_in;
  const std::string when = " be deleted at " + At(due) + ", in " + About(abandonment.due_in);
  std::string why = Because(snapshot, decision.detail);
  std::string hold = " To keep it: " + HoldCommand(snapshot, due);
  if (!abandonment.surge.empty()) {
    why += "; " + abandonment.surge;
    hold = " To keep all clusters of the namespace: kubectl annotate namespace " +
           snapshot.cluster->ns + HoldUntil(due) + "." + hold;
  }
  return Record(Audience::kAllWhoCare, {EventType::kWarning, "ClusterAbandoned", "Watching"},
                FitNote(Name() + " looks abandoned (" + ToString(decision.reason) + "): ", why,
                        abandonment.dry_run
                            ? ". Unless that changes it would" + when + ", were this not a dry run."
                            : ". Unless that changes it will" + when + "." + hold),
                stop);
}

void Announcer::CameBack(const Snapshot& snapshot, const Decision& decision, Duration since_warning,
                         std::stop_token stop) {
  Learn(snapshot);
  spared_for_.reset();
  Record(Audience::kAllWhoCare, {EventType::kNormal, "ClusterSpared", "Sparing"},
         FitNote(Name() + " is kept again (" + ToString(decision.reason) + "): ", decision.detail,
                 ". Its deletion was announced " + About(since_warning) + " ago."),
         stop);
}

void Announcer::WouldDelete(const Snapshot& snapshot, const Decision& decision,
                            const std::vector<std::string>& objects) {
  Write({"would-delete", "dry run: the cluster " + snapshot.cluster->name + " would be deleted (" +
                             ToString(decision.reason) + "): " + Joined(objects)},
        snapshot, [&](JsonWriter& line) {
          AddDecision(line, decision);
          line.Key("wouldDelete").StartArray();
          for (const std::string& object : objects) line.String(object);
          line.EndArray();
        });
  Record(Audience::kAllWhoCare, {EventType::kWarning, "ClusterAbandoned", "Watching"},
         FitNote(Name() + " would be deleted now (" + ToString(decision.reason) + "): ",
                 Joined(objects), ". Nothing is: this is a dry run."));
}

void Announcer::Condemned(const Snapshot& snapshot, const Decision& decision,
                          const Abandonment& abandonment) {
  spared_for_.reset();  // readers of this Event must also get the next one about sparing
  begun_.reset();
  const std::string because = Because(snapshot, decision.detail);
  Write({"condemned", std::string("condemned: ") + ToString(decision.reason) + " (" + because + ")",
         LevelOf(ToString(decision.reason))},
        snapshot, [&](JsonWriter& line) {
          AddDecision(line, decision);
          line.Key("confirmations").Integer(abandonment.confirmations);
          line.Key("abandonedForSeconds").Number(Seconds(abandonment.lasted));
        });
  const std::string confirmed = abandonment.confirmations == 0
                                    ? ""
                                    : ". Confirmed by " +
                                          std::to_string(abandonment.confirmations) +
                                          " checks over " + About(abandonment.lasted);
  Record(Audience::kOwnerAndRoot, {EventType::kWarning, "ClusterCondemned", "Condemning"},
         FitNote(Name() + " is condemned (" + ToString(decision.reason) + "): ", because,
                 confirmed + ". A final check follows" + AskedText() + "."));
}

void Announcer::Spared(const Snapshot& snapshot, std::optional<Refusal> refusal,
                       const std::string& detail, const Decision* decision) {
  const std::string refused = refusal ? ToString(*refusal) : "";
  spares_again_ = spared_for_ == refused && clock_.Now() - spared_at_ < kTellAgain;
  const std::string why = refused.empty() ? "" : " (" + refused + ")";
  const std::string asked = AskedText("Its deletion was asked");
  Write({"spared", "the cluster is spared" + why + ": " + detail + asked,
         spares_again_ ? spdlog::level::debug : spdlog::level::warn},
        snapshot, [&](JsonWriter& line) {
          line.Field("refusal", refused);
          if (decision != nullptr) return AddDecision(line, *decision);
          line.Field("detail", detail);
        });
  if (spares_again_) return;
  spared_for_ = refused;
  spared_at_ = clock_.Now();
  Record(Audience::kAllWhoCare, {EventType::kWarning, "ClusterSpared", "Sparing"},
         FitNote(Name() + " is spared" + why + ": ", detail, asked));
}

void Announcer::TakenOver(const Snapshot& snapshot, const Marks& marks) {
  begun_ = marks;
  const std::string what = "its deletion is taken over from " + marks.condemned_by.ToText();
  Write({"deleting", "cluster " + snapshot.cluster->name + ": " + what}, snapshot,
        [&](JsonWriter& line) { line.Field("reason", marks.reason).Field("detail", what); });
  Trouble(snapshot, "TakingOver", what);
}

void Announcer::Deleting(const Snapshot& snapshot, const Marks& marks, const std::string& why) {
  spared_for_.reset();
  Write({"deleting", "deleting cluster " + snapshot.cluster->name + ": " + why + AskedText(),
         LevelOf(marks.reason)},
        snapshot, [&](JsonWriter& line) {
          line.Field("reason", marks.reason).Field("detail", why);
          line.Field("condemnedBy", marks.condemned_by.ToText());
          if (marks.deleting_since) line.Field("deletingSince", FormatTime(*marks.deleting_since));
        });
  const std::string reason = marks.reason.empty() ? "" : " (" + marks.reason + ")";
  Record(
      Audience::kOwnerAndRoot, {EventType::kWarning, "ClusterDeleting", "Deleting"},
      FitNote(Name() + " is being deleted" + reason + ": ", Because(snapshot, why), AskedText()));
}

void Announcer::Trouble(const Snapshot& snapshot, const char* action, const std::string& what) {
  Learn(snapshot);
  Record(Audience::kOwnerAndRoot, {EventType::kWarning, "ClusterDeleting", action},
         FitNote(Name() + ": ", what, AskedText("Its deletion was asked")));
}

void Announcer::Deleted(const Snapshot& snapshot, const std::string& reason,
                        const DeletionReport& report) {
  Learn(snapshot);
  const std::string because = reason.empty() ? "" : " (" + reason + ")";
  const std::string deletes = report.DeletesText();
  const std::string what = Name() + " is deleted" + because + ": " + std::to_string(report.found) +
                           (report.found == 1 ? " member" : " members") +
                           (report.root_deleted ? " and the master root" : "") + ", in " +
                           FormatDuration(report.took) +
                           (deletes.empty() ? "" : " (deletes: " + deletes + ")");
  std::string left;
  for (const std::string& object : report.Told()) left += "; left: " + object;
  const auto level = report.overdue ? spdlog::level::warn : LevelOf(reason);
  Write({"deleted", what + left + AskedText(), level}, snapshot, [&](JsonWriter& line) {
    line.Field("reason", reason);
    line.Key("durationSeconds").Number(Seconds(report.took));
    line.Key("membersFound").Integer(static_cast<std::int64_t>(report.found));
    line.Key("masterRootDeleted").Bool(report.root_deleted);
    line.Key("deletes").StartObject();
    for (const auto& [result, count] : report.deletes) line.Key(result).Integer(count);
    line.EndObject().Key("left").StartArray();
    for (const std::string& object : report.left) line.String(object);
    line.EndArray();
  });
  Record(Audience::kSurvivor,
         {report.overdue ? EventType::kWarning : EventType::kNormal, "ClusterDeleted", "Deleting"},
         FitNote(what, left, AskedText()));
}

}  // namespace cluster_watcher
