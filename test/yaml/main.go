// Tries `cluster-watcher inject` with generated manifests, and compares what it writes with what it
// was given, as kubectl's reader of YAML understands both:
//
//	judge PROGRAM DOCUMENTS SEED
//
// Some are rare: these inject may refuse, with a place and a reason that is known. The last line is
// "N passed, N failed" of the documents; the exit code is 1 if any failed.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const perStream = 25

// What inject may refuse of a rare document, instead of changing what it means.
var refusals = regexp.MustCompile(`stands twice in one map|a list or map as a key|a key that is null|` +
	`can't be written as JSON|is no !!|!!float: leave the tag out|a noncharacter of Unicode|!!binary: write|` +
	`it is not valid YAML|another document begins here: write|is no text in UTF-8`)
var place = regexp.MustCompile(`, line (\d+), column \d+: (.*)`)

// read returns the value of a document, as kubectl sends it.
func read(document string) (any, error) {
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err = decoder.Decode(&value)
	return value, err
}

// split returns the documents of a stream; each line of three dashes begins one.
func split(stream string) []string {
	var documents []string
	begin := 0
	for at := 0; at < len(stream); {
		end := strings.IndexByte(stream[at:], '\n')
		line := stream[at:]
		if end >= 0 {
			line = stream[at : at+end+1]
		}
		if at > begin && strings.HasPrefix(line, "---") && strings.TrimLeft(line[3:], " \t\r\n") != line[3:] {
			documents = append(documents, stream[begin:at])
			begin = at
		}
		at += len(line)
	}
	return append(documents, stream[begin:])
}

func member(value any, keys ...string) (any, bool) {
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// takeFrom removes what the sidecar added to `list`, and the list where `before` had none.
func takeFrom(pod, before any, name string, first bool) error {
	spec, _ := member(pod, "spec")
	old, had := member(before, "spec", list(first))
	object, _ := spec.(map[string]any)
	all, _ := object[list(first)].([]any)
	at := len(all) - 1
	if first {
		at = 0
	}
	if len(all) == 0 || !hasName(all[at], name) {
		return fmt.Errorf("no %s among %s", name, list(first))
	}
	rest := append(append([]any{}, all[:at]...), all[at+1:]...)
	object[list(first)] = rest
	if len(rest) == 0 && (!had || old == nil) {
		restore(object, list(first), old, had)
	}
	return nil
}

func list(first bool) string {
	if first {
		return "initContainers"
	}
	return "volumes"
}

func hasName(value any, name string) bool {
	is, _ := member(value, "name")
	return is == name
}

func restore(object map[string]any, key string, old any, had bool) {
	delete(object, key)
	if had {
		object[key] = old
	}
}

func takeKey(pod, before any, what, key string) error {
	meta, _ := member(pod, "metadata")
	object, _ := meta.(map[string]any)
	texts, _ := object[what].(map[string]any)
	if _, ok := texts[key]; !ok {
		return fmt.Errorf("no %s among %s", key, what)
	}
	delete(texts, key)
	old, had := member(before, "metadata", what)
	if len(texts) == 0 && (!had || old == nil) {
		restore(object, what, old, had)
	}
	return nil
}

// withoutSidecar removes what was added to the pod.
func withoutSidecar(pod, before any) error {
	for _, err := range []error{
		takeFrom(pod, before, "cluster-watcher", true),
		takeFrom(pod, before, "cluster-watcher-token", false),
		takeKey(pod, before, "annotations", "cluster-watcher/status"),
		takeKey(pod, before, "labels", "cluster-watcher/injected"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func podOf(value any) any {
	if kind, _ := member(value, "kind"); kind == "Pod" {
		return value
	}
	pod, _ := member(value, "spec", "template")
	return pod
}

// judge returns what is wrong with what was made of a document.
func judge(before, after string) error {
	if !strings.Contains(after, "CLUSTER_WATCHER_LISTEN") {
		if before != after {
			return fmt.Errorf("it has no sidecar, and was changed")
		}
		return nil
	}
	old, err := read(before)
	if err != nil {
		return fmt.Errorf("kubectl reads no such document: %v", err)
	}
	value, err := read(after)
	if err != nil {
		return fmt.Errorf("kubectl can't read what was made of it: %v", err)
	}
	if err := withoutSidecar(podOf(value), podOf(old)); err != nil {
		return err
	}
	if change := difference("", old, value); change != "" {
		return fmt.Errorf("it means something else: %s", change)
	}
	return nil
}

// difference returns the first place where the values differ, and how; "" if they don't.
func difference(at string, was, is any) string {
	switch old := was.(type) {
	case map[string]any:
		if object, ok := is.(map[string]any); ok && len(object) == len(old) {
			for key, item := range old {
				now, has := object[key]
				if !has {
					return fmt.Sprintf("%s has no %+q", at, key)
				}
				if change := difference(at+"/"+key, item, now); change != "" {
					return change
				}
			}
			return ""
		}
	case []any:
		if items, ok := is.([]any); ok && len(items) == len(old) {
			for i := range old {
				if change := difference(at+"/"+strconv.Itoa(i), old[i], items[i]); change != "" {
					return change
				}
			}
			return ""
		}
	}
	if reflect.DeepEqual(was, is) {
		return ""
	}
	return fmt.Sprintf("%s was %s, and is %s", at, asJSON(was), asJSON(is))
}

func asJSON(value any) string {
	text, _ := json.Marshal(value)
	return fmt.Sprintf("%+q", text)
}

func inject(program, stream string) (string, string) {
	command := exec.Command(program, "inject")
	command.Stdin = strings.NewReader(stream)
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	if command.Run() != nil {
		return "", err.String()
	}
	return out.String(), ""
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: judge PROGRAM DOCUMENTS SEED")
		os.Exit(2)
	}
	count, _ := strconv.Atoi(os.Args[2])
	seed, _ := strconv.ParseInt(os.Args[3], 10, 64)
	maker := &maker{Rand: rand.New(rand.NewSource(seed))}
	passed, failed, injected := 0, 0, 0
	refused := map[string]int{}
	complain := func(document string, why string) {
		failed++
		if failed <= 10 {
			fmt.Printf("FAILED: %s\n%s\n", why, document)
		}
	}
	for passed+failed < count {
		var documents []string
		var rare []bool
		for len(documents) < perStream {
			document := maker.document(len(documents) == 0)
			// What kubectl does not read is no manifest.
			if _, err := read(document); err == nil {
				documents = append(documents, document)
				rare = append(rare, maker.rare)
			}
		}
		for len(documents) > 0 {
			out, trouble := inject(os.Args[1], strings.Join(documents, ""))
			if trouble == "" {
				made := split(out)
				if len(made) != len(documents) {
					complain("", fmt.Sprintf("%d documents became %d", len(documents), len(made)))
					break
				}
				for i := range made {
					if strings.Contains(made[i], "CLUSTER_WATCHER_LISTEN") {
						injected++
					}
					if err := judge(documents[i], made[i]); err != nil {
						complain(documents[i], err.Error()+"\n"+made[i])
					} else {
						passed++
					}
				}
				break
			}
			// One that is refused makes the whole stream fail: the others are tried without it.
			found := place.FindStringSubmatch(trouble)
			if found == nil {
				complain("", trouble)
				break
			}
			line, _ := strconv.Atoi(found[1])
			at := 0
			for line > strings.Count(documents[at], "\n") && at < len(documents)-1 {
				line -= strings.Count(documents[at], "\n")
				at++
			}
			if what := refusals.FindString(found[2]); what != "" && rare[at] {
				refused[what]++
				passed++
			} else {
				complain(documents[at], trouble)
			}
			documents = append(documents[:at], documents[at+1:]...)
			rare = append(rare[:at], rare[at+1:]...)
		}
	}
	all := 0
	for what, n := range refused {
		fmt.Printf("%d refused: %s\n", n, what)
		all += n
	}
	fmt.Printf("%d with a sidecar, %d refused\n", injected, all)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || injected < count/2 || all > count/rarely {
		os.Exit(1)
	}
}
