// Writes labels and annotations of one object.
#pragma once

#include <string_view>

#include "probes/kube/kube_client.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// How often a write is tried that meets another: controllers write status all the time.
inline constexpr int kMostWrites = 10;

struct MetaChanges {
  AnnotationChanges labels = {};
  AnnotationChanges annotations = {};
};

// Sets and takes off labels and annotations of `object`, under the resourceVersion with which it
// was read: kConflict if it has changed since. `manager`: the field manager; empty: the API server
// names one.
ApiResult WriteMeta(KubeClient& client, const KubeObject& object, const MetaChanges& changes,
                    std::string_view manager = {});

// Reads the metadata of the same object again. kNotFound: it is gone, or another has its name.
Result<KubeObject, ApiError> ReadMetaAgain(KubeClient& client, const KubeObject& object,
                                           const Patience& patience);

}  // namespace cluster_watcher
