package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A testCase is tried with these files in a directory of its own, and KUBECONFIG=config unless it has
// arguments or an environment.
type testCase struct {
	name        string
	files       files
	arguments   []string
	environment []string
	refusal     string // what we say where we refuse it; "": we take it as kubectl does
	isStricter  bool   // kubectl takes what we refuse
}

type files map[string]string

// refusals are what we say of things: "" where we take them, "+..." where kubectl takes them.
type refusals map[string]string

func (r refusals) each(do func(thing, refusal string)) {
	for _, thing := range slices.Sorted(maps.Keys(r)) {
		do(thing, r[thing])
	}
}

// parts are what a kubeconfig is made of: the fields of its cluster, user and context, in flow style,
// and lines before them. What is empty is as usual.
type parts struct{ lines, cluster, user, context string }

const (
	trusted     = ", certificate-authority-data: $CADATA"
	goodCluster = "server: $URL" + trusted
	goodUser    = "token: right"
	goodContext = "cluster: c, user: u, namespace: team"
)

func (p parts) text() string {
	or := func(text, usual string) string {
		if text == "" {
			return usual
		}
		return text
	}
	return "apiVersion: v1\nkind: Config\ncurrent-context: x\n" + p.lines +
		"\nclusters: [{name: c, cluster: {" + or(p.cluster, goodCluster) +
		"}}]\nusers: [{name: u, user: {" + or(p.user, goodUser) +
		"}}]\ncontexts: [{name: x, context: {" + or(p.context, goodContext) + "}}]\n"
}

type table struct{ cases []testCase }

// add adds a case; `others` are its further files.
func (t *table) add(refusal, name, config string, others ...files) *testCase {
	c := testCase{name: name, files: files{"config": config},
		refusal: strings.TrimPrefix(refusal, "+"), isStricter: strings.HasPrefix(refusal, "+")}
	for _, more := range others {
		maps.Copy(c.files, more)
	}
	t.cases = append(t.cases, c)
	return &t.cases[len(t.cases)-1]
}

// each adds a case for each value; %s in a part stands for it.
func (t *table) each(refusal, name string, p parts, values ...string) {
	for _, value := range values {
		put := func(text string) string { return strings.ReplaceAll(text, "%s", value) }
		t.add(refusal, fmt.Sprintf("%s: %q", name, value),
			parts{put(p.lines), put(p.cluster), put(p.user), put(p.context)}.text())
	}
}

// change adds a good kubeconfig with something else in place of something.
func (t *table) change(refusal, from, to string) {
	t.add(refusal, fmt.Sprintf("%q in place of %q", to, from), strings.Replace(parts{}.text(), from, to, 1))
}

func (t *table) addScalars() {
	skips := parts{cluster: "server: $URL, insecure-skip-tls-verify: %s"}
	t.each("", "truth", skips, "true", "True", "TRUE", "yes", "Yes", "on", "ON", "y", "!!bool yes")
	t.each("must be true or false", "truth", skips, "'true'", "!!str yes", "1", "tRUE", "maybe", "[]")
	skips.cluster += trusted
	t.each("", "falsehood", skips, "false", "False", "no", "NO", "off", "n", "null", "~", "")
	t.each("exclude each other", "truth", skips, "on")
	compression := parts{cluster: goodCluster + ", disable-compression: %s"}
	t.each("", "compression", compression, "on", "off")
	t.each("must be true or false", "compression", compression, "'true'", "2")

	namespace := parts{context: "cluster: c, user: u, namespace: %s"}
	t.each("", "namespace", namespace, "team", "\"team\"", "'off'", "!!str 5", "2024-01-01", "a-b", "null", "~", "",
		"''", "yes-no", "1a", "0x", "&a team", "'5'")
	t.each("quotes", "namespace", namespace, "5", "0x1F", "0o17", "1_000", "1e3", "yes", "off", "[a]", "{a: b}", "1.5")
	t.each("+DNS label", "namespace", namespace, "Team", "'a b'", "'team '", "a.b", "ü", "1:30x")
	t.each("DNS label", "namespace", namespace, "a/b", "..", "'a%b'")

	t.each("", "token", parts{user: "token: %s"}, "'5'", "a.b-c_d~e+f/g==", "!!str 007")
	t.each("quotes", "token", parts{user: "token: %s"}, "5", "true", "[a]")
	t.each("quotes", "server", parts{cluster: "server: %s"}, "5", "[a]")
	t.each("", "unknown", parts{lines: "extra: [1]", cluster: goodCluster + ", %s"}, "Server: wrong, mine: {a: 1}")
	t.each("preferences", "preferences", parts{lines: "preferences: %s"}, "[a]")
}

func (t *table) addNames() {
	named := strings.NewReplacer("name: c,", "name: %s,", "name: u,", "name: %s,", "name: x,", "name: %s,",
		"cluster: c,", "cluster: %s,", "user: u,", "user: %s,", "context: x\n", "context: %s\n").Replace(parts{}.text())
	for _, name := range []string{"a b", "admin@cluster/x", "ü☃", "'", "\"", "null", "~", "<<", "5", "a: b", "# x",
		"*a", "\t", "😀", "a\nb", "{}", "yes", " ", strings.Repeat("n", 300)} {
		quoted, err := json.Marshal(name)
		must(err)
		t.add("", "name "+name, strings.ReplaceAll(named, "%s", string(quoted)))
	}
	t.change("lacks its name", "name: u", "name: 5")
	t.change("+lacks its name", "users: [", "users: [{user: {}}, ")
	t.change("is there twice", "users: [", "users: [{name: u}, ")
	t.change("is there twice", "contexts: [", "contexts: [{name: x}, ")
	t.change("which isn't there", "cluster: c,", "cluster: d,")
	t.change("which isn't there", "cluster: c, ", "")
	t.change("which isn't there", "user: u,", "user: v,")
	t.change("there is no context", "name: x,", "name: w,")
	t.change("there is no context", "contexts:", "Contexts:")
	t.change("current-context is not set", "current-context: x\n", "")
	t.change("quotes", "current-context: x", "current-context: 5")
	second := strings.Replace(parts{}.text(), "contexts: [",
		"contexts: [{name: 'y: z', context: {cluster: c, user: u, namespace: second}}, ", 1)
	t.add("", "--context", second).arguments = []string{"--kubeconfig=config", "--context=y: z"}
	t.add("there is no context", "--context of none", second).arguments = []string{"--kubeconfig=config", "--context=w"}
}

func (t *table) addTwiceAndMerged() {
	const twice = "+stands twice in one map"
	t.change(twice, "kind: Config", "current-context: w")
	t.change(twice, "contexts: ", "contexts: []\ncontexts: ")
	t.change(twice, "namespace: team", "namespace: first, namespace: team")
	t.change(twice, "namespace: team", "namespace: first, \"namespace\": team")
	t.change(twice, "server: ", "server: $OTHER, server: ")
	t.change(twice, "token: ", "token: first, token: ")
	t.change(twice, "name: x,", "name: w, name: x,")
	t.add(twice, "a key twice in JSON", strings.Replace(inJson(""), `"namespace":`, `"namespace": "first", "namespace":`, 1))

	merges := parts{
		lines:   ".a: &a {cluster: c, user: u, namespace: merged}\n.b: &b {namespace: other, cluster: c}",
		context: "%s"}
	t.each("", "merged", merges, "<<: *a", "<<: *a, "+goodContext, goodContext+", <<: *a", "<<: [*a, *b]",
		"<<: [*b, *a], user: u", "<<: *b, <<: *a", "<<: *a, <<: *b", "<<: {namespace: inline}, cluster: c, user: u",
		"!!merge <<: *a", "'<<': *a, "+goodContext, goodContext+", <<: []", "<<: *a, namespace: ~")
	t.each("needs a map", "merged", merges, goodContext+", <<: text", goodContext+", <<: [text]", goodContext+", <<: ~")
	t.each("no anchor", "merged", merges, "<<: *nothing")
	t.each("", "merged into a cluster", parts{lines: ".a: &a {" + goodCluster + "}", cluster: "%s"}, "server: $OTHER, <<: *a")
	t.each("", "merged into a user", parts{lines: ".a: &a {token: merged}", user: "%s"}, "<<: *a", "token: first, <<: *a")
	t.change("", "current-context: x", "<<: {current-context: x}")
	t.change("", "{name: x,", "{<<: {name: x},")
	t.add("", "an alias for a list", strings.Replace(parts{}.text(), "contexts: [", ".a: &a [", 1)+"contexts: *a\n")
	bomb := ".a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf(".a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	t.add("too large", "aliases of aliases", parts{lines: bomb}.text())
}

// inJson returns a good kubeconfig in JSON with this indentation.
func inJson(indent string) string {
	type object map[string]any
	list := func(kind, name string, of object) []any { return []any{object{"name": name, kind: of}} }
	text, err := json.MarshalIndent(object{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": list("cluster", "c", object{"server": "$URL", "certificate-authority-data": "$CADATA"}),
		"users":    list("user", "u", object{"token": "right"}),
		"contexts": list("context", "x", object{"cluster": "c", "user": "u", "namespace": "team"})}, "", indent)
	must(err)
	return string(text)
}

func (t *table) addTexts() {
	good := parts{}.text()
	for _, text := range []string{"---\n" + good, good + "---\ncurrent-context: w\n", good + "---\na: ]\n", good + "...\n",
		"%YAML 1.1\n---\n" + good, "\ufeff" + good, strings.ReplaceAll(good, "\n", "\r\n"), "# a\n\n" + good + "# b",
		good + "extensions: []\npreferences: {}\n", inJson(""), inJson("\t"), strings.Replace(inJson(" "), "team", `te\u0061m`, 1)} {
		t.add("", fmt.Sprintf("text %.50q", text), text)
	}
	t.change("", "apiVersion: v1\nkind: Config\n", "")
	refusals{
		"":                    "current-context is not set",
		"# nothing\n":         "current-context is not set",
		"null\n":              "current-context is not set",
		"---\n---\n" + good:   "current-context is not set",
		"text":                "is it a kubeconfig?",
		"- a\n":               "is it a kubeconfig?",
		"a: [1,\n":            "line 2",
		"a: b: c\n":           "line 1, column 5",
		"a: \x01":             "line 1",
		"\ta: b\n":            "line 1",
		"\xff\xfe\x00":        "kubeconfig config",
		good + "~: a\n":       "a key that is null",
		good + "[a]: b\n":     "a list or map as a key",
		good + "a: .nan\n":    "can't be written as JSON",
		good + "a: !!int x\n": "is no !!int",
	}.each(func(text, refusal string) { t.add(refusal, fmt.Sprintf("text %.50q", text), text) })
	t.change("a kubeconfig is a Config of v1", "Config", "Pod")
	t.change("a kubeconfig is a Config of v1", "v1", "v2")
	t.change("apiVersion", "v1", "1")
	t.change("users is not a list", "users: [{name: u, user: {token: right}}]", "users: {}")
	t.change("context \"x\" is not a map", "{"+goodContext+"}", "text")
	t.change("an entry of users", "users: [", "users: [text, ")
}

func (t *table) addServers() {
	server := parts{cluster: "server: '%s'" + trusted}
	t.each("", "server", server, "$URL/", "$URL/base", "$URL/base/", "$URL/a/b")
	t.each("+server", "server", server, "$URL/?a=b", "$URL/base#a")
	t.each("server", "server", server, "", "$HOST", "https://", "ftp://$HOST", "https://a b")
	// kubectl sends nothing secret there; elsewhere it asks for the name of a user who has nothing.
	t.each("", "server", parts{cluster: "server: '%s'", user: "a: b"}, "$PLAIN", "$PLAIN/base")
	t.each("", "server", parts{cluster: "server: '%s'", context: "cluster: c, namespace: team"}, "$PLAIN")
	name := parts{cluster: goodCluster + ", tls-server-name: %s"}
	t.each("", "tls-server-name", name, "example.com", "''", "127.0.0.1")
	t.each("example.org", "tls-server-name", name, "example.org")
	proxy := parts{cluster: goodCluster + ", proxy-url: %s"}
	t.each("", "proxy-url", proxy, "$PROXY", "''", "~", "$PROXY/")
	t.each("proxy-url", "proxy-url", proxy, "ftp://127.0.0.1", "127.0.0.1", "5")
}

func (t *table) addFiles() {
	named := files{"ca.crt": "$CA", "c.crt": "$CERT", "c.key": "$KEY", "t": "from-file\n", "void": ""}
	refusals{
		"certificate-authority: ca.crt":                     "",
		"certificate-authority: ./ca.crt":                   "",
		"certificate-authority: link/../ca.crt":             "",
		"certificate-authority: elsewhere/../ca.crt":        "",
		"certificate-authority: none.crt":                   "none.crt",
		"certificate-authority: ~/ca.crt":                   "certificate-authority",
		"certificate-authority: 5":                          "quotes",
		"certificate-authority: t":                          "certificate",
		"certificate-authority: ca.crt" + trusted:           "exclude each other",
		"certificate-authority-data: '!'":                   "base64",
		"certificate-authority-data: YQ":                    "base64",
		"certificate-authority-data: Y2E=":                  "certificate",
		"certificate-authority-data: !!binary Y2E=":         "!!binary",
		"certificate-authority: ca.crt, <<: {server: $URL}": "",
	}.each(func(authority, refusal string) {
		t.add(refusal, authority, parts{cluster: "server: $URL, " + authority}.text(), named)
	})
	above := parts{cluster: "server: $URL, certificate-authority: ../ca.crt"}.text()
	t.add("", "authority above", "", named, files{"sub/config": above}).arguments = []string{"--kubeconfig=sub/config"}
	t.add("", "authority beside a link", "", named,
		files{"elsewhere/deep/config": above}).environment = []string{"KUBECONFIG=link/config"}
	refusals{
		"client-certificate-data: $CERTDATA, client-key-data: $KEYDATA":              "",
		"client-certificate-data: $CERTDATA, client-key-data: $KEYDATA, token: also": "",
		"client-certificate: c.crt, client-key: c.key":                               "",
		"client-certificate: c.crt, client-key-data: $KEYDATA":                       "",
		"client-certificate: ./c.crt, client-key: link/../c.key, tokenFile: t":       "",
		"tokenFile: t":                                "",
		"token: first, tokenFile: ./t":                "",
		"client-certificate: c.crt":                   "without client-key",
		"client-certificate: c.crt, client-key: none": "none",
		"client-certificate: t, client-key: c.key":    "client",
		"client-certificate: c.crt, client-certificate-data: $CERTDATA, client-key: c.key": "exclude each other",
		"client-certificate: c.crt, client-key: c.key, client-key-data: $KEYDATA":          "exclude each other",
		"client-key: c.key, token: a":       "+without client-certificate",
		"tokenFile: none":                   "none",
		"tokenFile: void":                   "holds no token",
		"tokenFile: [t]":                    "quotes",
		"token: a, tokenFile: none":         "+none",
		"username: a, password: b":          "+not supported",
		"token: a, username: b":             "not supported",
		"token: a, as: bob, as-groups: [a]": "+not supported",
		"as-uid: '1'":                       "not supported",
		"auth-provider: {name: gcp}":        "not supported",
	}.each(func(user, refusal string) { t.add(refusal, user, parts{user: user}.text(), named) })
}

func (t *table) addPlugins() {
	const v1 = "apiVersion: client.authentication.k8s.io/v1, "
	const usual = v1 + "interactiveMode: Never, command: ./plugin"
	// Its token says whether it was told of the cluster, and how it was called.
	told := files{"plugin": `#!/bin/sh
t=untold
case $KUBERNETES_EXEC_INFO in *'"cluster":{'*'"a":1'*) t=told ;; esac
printf 'kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus: {token: "%s.%s.%s.%s"}\n' \
  "$t" "$1" "$2" "$A"
`}
	told["bin/named"] = told["plugin"]
	informed := goodCluster + ", extensions: [{name: a, extension: 1}, " +
		"{name: client.authentication.k8s.io/exec, extension: {a: 1}}]"
	refusals{
		usual: "",
		v1 + "interactiveMode: IfAvailable, command: named":                    "",
		v1 + "interactiveMode: Never, command: elsewhere/../plugin":            "",
		v1 + "interactiveMode: Never, command: ./link/../plugin":               "",
		v1 + "interactiveMode: Never, command: plugin":                         "plugin",
		v1 + "interactiveMode: Never, command: ./none":                         "none",
		v1 + "interactiveMode: Never, command: 5":                              "exec.command",
		v1 + "interactiveMode: Never":                                          "exec.command",
		v1 + "interactiveMode: Always, command: ./plugin":                      "interactiveMode",
		v1 + "interactiveMode: never, command: ./plugin":                       "interactiveMode",
		v1 + "command: ./plugin":                                               "interactiveMode",
		"interactiveMode: Never, command: ./plugin":                            "apiVersion",
		"apiVersion: client.authentication.k8s.io/v1alpha1, command: ./plugin": "apiVersion",
		usual + ", provideClusterInfo: true":                                   "",
		usual + ", provideClusterInfo: True":                                   "",
		usual + ", provideClusterInfo: yes":                                    "",
		usual + ", provideClusterInfo: on":                                     "",
		usual + ", provideClusterInfo: no":                                     "",
		usual + ", provideClusterInfo: ~":                                      "",
		usual + ", provideClusterInfo: 'true'":                                 "provideClusterInfo",
		usual + ", args: [x, 'y']":                                             "",
		usual + ", args: [null, x]":                                            "",
		usual + ", args: []":                                                   "",
		usual + ", args: [5]":                                                  "exec.args",
		usual + ", args: text":                                                 "exec.args",
		usual + ", <<: {args: [merged]}":                                       "",
		usual + ", env: [{name: A, value: b}]":                                 "",
		usual + ", env: [{name: A, value: b}, {name: A, value: c}]":            "",
		usual + ", env: [{<<: {name: A}, value: merged}]":                      "",
		usual + ", env: [{name: A}]":                                           "",
		usual + ", env: null, args: ~, installHint: a":                         "",
		usual + ", env: [{value: a}]":                                          "exec.env",
		usual + ", env: [{name: A, value: 5}]":                                 "exec.env",
		usual + ", command: ./plugin":                                          "+stands twice in one map",
	}.each(func(fields, refusal string) {
		t.add(refusal, "exec: "+fields, parts{cluster: informed, user: "exec: {" + fields + "}"}.text(), told)
	})
	t.each("exec is not a map", "exec", parts{user: "exec: %s"}, "text")
	t.add("", "a plugin beside a token", parts{user: "token: a, exec: {" + usual + "}"}.text(), told)

	answer := func(refusal, fields, text string) {
		t.add(refusal, fmt.Sprintf("answer %.90q", text), parts{user: "exec: {" + fields + "}"}.text(),
			files{"plugin": "#!/bin/sh\ncat <<'END'\n" + text + "\nEND\n"})
	}
	const asJson = `{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "given"}}`
	const asYaml = "kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus:\n  "
	beta := strings.NewReplacer("/v1", "/v1beta1", "interactiveMode: Never, ", "")
	answer("", beta.Replace(usual), beta.Replace(asJson))
	answer("", beta.Replace(usual), beta.Replace(asYaml)+"token: given")
	refusals{
		asJson:                  "",
		"\n " + asJson + " ":    "",
		asYaml + "token: given": "",
		asYaml + "token: '5'":   "",
		"---\n" + asYaml + "token: given\n---\na: b":                           "",
		".a: &a {token: merged}\n" + asYaml + "<<: *a":                         "",
		asYaml + "token: given\n  expirationTimestamp: 2099-01-01T00:00:00Z":   "",
		asYaml + "clientCertificateData: $CERTJSON\n  clientKeyData: $KEYJSON": "",
		"":            "nothing",
		"text":        "no object",
		"[a]":         "no object",
		"a: b: c":     "no object",
		asJson + " x": "no object",
		"{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1, status: {token: a}}": "no object",
		asYaml + "token: 5":                                                 "token that is not a text",
		asYaml + "token: ''":                                                "neither a token",
		asYaml + "clientKeyData: a":                                         "without clientCertificateData",
		asYaml + "token: a\n  expirationTimestamp: soon":                    "expirationTimestamp",
		asYaml + "token: a\n  token: b":                                     "+no object",
		"kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1": "without a status",
		"kind: ExecCredential\nstatus: {token: a}":                          "answered in apiVersion",
		"apiVersion: client.authentication.k8s.io/v1\nstatus: {token: a}":   "+of kind",
		beta.Replace(asYaml) + "token: a":                                   "answered in apiVersion",
		strings.Replace(asYaml, "ExecCredential", "Pod", 1) + "token: a":    "of kind",
	}.each(func(text, refusal string) { answer(refusal, usual, text) })
}

func (t *table) addLists() {
	const context = "current-context: x\ncontexts: [{name: x, context: {" + goodContext + "}}]\n"
	some := files{
		"clusters/config": "current-context: w\nclusters: [{name: c, cluster: {server: $URL, certificate-authority: ca.crt}}]\n",
		"clusters/ca.crt": "$CA", "users": "users: [{name: u, user: {token: listed}}]\n", "void": "", "broken": "a: ]",
		"second": parts{user: "token: second", context: "cluster: c, user: u, namespace: second"}.text()}
	refusals{
		"config:clusters/config:users":      "",
		"none:config:users:clusters/config": "",
		":config::clusters/config:users:":   "",
		"config:second:clusters/config":     "",
		"second:config":                     "",
		"second:second":                     "",
		"void:second":                       "",
		"clusters/config:config:users":      "there is no context",
		"second:broken":                     "broken",
		"none":                              "no file exists",
		"none:nothing":                      "no file exists",
		"config":                            "which isn't there",
		"void":                              "current-context is not set",
	}.each(func(list, refusal string) {
		t.add(refusal, "KUBECONFIG="+list, context, some).environment = []string{"KUBECONFIG=" + list}
	})
	both := t.add("", "--kubeconfig beside KUBECONFIG", context, some)
	both.arguments, both.environment = []string{"--kubeconfig=second"}, []string{"KUBECONFIG=config"}
	t.add("none", "a file that is missing", context, some).arguments = []string{"--kubeconfig=none"}
	t.add("", "the home's", "", files{".kube/config": parts{}.text()}).environment = []string{"KUBECONFIG="}
	t.add("", "in a pod", parts{}.text()).environment = []string{"KUBECONFIG=config", "POD_NAMESPACE=of-pod",
		"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}
	t.add("", "-n", parts{}.text()).arguments = []string{"--kubeconfig=config", "-n", "given"}
}

func (t *table) addFlags() {
	named := parts{cluster: goodCluster + ", tls-server-name: example.com"}
	refusals{
		"--server=$OTHER":                        "",
		"--server=$URL/base/":                    "",
		"-s=$PLAIN":                              "",
		"--server=ftp://a":                       "is not one of",
		"--token=other":                          "",
		"--token=a b":                            "+--token",
		"--as=alice":                             "",
		"--as=alice --as-group=a --as-group=b,c": "",
		"--as-group=a":                           "--as-group without --as",
		"--request-timeout=5":                    "",
		"--request-timeout=1m30s":                "",
		"--request-timeout=0":                    "",
		"--request-timeout=5x":                   "--request-timeout",
		"--request-timeout=-5":                   "--request-timeout",
		"--server=$OTHER --token=other --as=system:me": "",
	}.each(func(flags, refusal string) {
		arguments := append([]string{"--kubeconfig=config"}, strings.Split(flags, " --")...)
		for i := 2; i < len(arguments); i++ {
			arguments[i] = "--" + arguments[i]
		}
		t.add(refusal, flags, named.text()).arguments = arguments
	})
}

func allCases() []testCase {
	var t table
	t.addScalars()
	t.addNames()
	t.addTwiceAndMerged()
	t.addTexts()
	t.addServers()
	t.addFiles()
	t.addPlugins()
	t.addLists()
	t.addFlags()
	return t.cases
}
