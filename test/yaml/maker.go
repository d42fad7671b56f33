package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
)

// maker makes manifests; the same seed makes the same ones.
type maker struct {
	*rand.Rand
	anchors int
	// What inject may refuse is only in rare documents.
	rare bool
}

const rarely = 20

// Texts that readers of YAML disagree about.
var odd = []string{
	"", " ", ":8080", "yes", "no", "on", "Off", "y", "n", "true", "True", "~", "null", "Null", "1e3", "0x1F",
	"0o17", "017", "0b11", "1_000", "_1", "+1", "-1", "-0", "1.", ".5", "1.5e300", "1e400", ".inf", "-.Inf",
	".nan", "=", "<<", "-", "--", "---", "...", "- a", "? a", ": a", "a:", "a: b", "a #b", "#a", "a#b", "a:b",
	"!a", "&a", "*a", "%a", "@a", "`a", "|", ">", "'", "\"", "it's", "\"a\" b", "{", "}", "[", "]", "{a}", "[a]",
	",", "a,b", "a, b", " a", "a ", "a\t", "\ta", "a\tb", "\n", "a\n", "a\n\n", "\na", "\n\na\n", "a\n b\n",
	" a\nb\n", "a\n\n\nb", "a\n#b\n", "a\n---\nb", "a\r\nb", "\r", "\\", "\\n", "é", "☃", "😀", "\u0085",
	"a\u0085b", "a\u2028b", "\u2029", "\ufeff", "a\ufeffb", "\u00a0", "\u200b", "2001-12-14", "12:30:45",
	"190:20:30", "2001-12-14t21:59:43.10-05:00", "0.1", "12345678901234567890123", "9007199254740993", "1e23",
	"18446744073709551616", "-9223372036854775809", "key: |", "a\n\n", "\ta\n", "a\n\t\n", "x: [1, 2]",
	`{"a":"b"}`, "\x7f", "\x1b[0m", "\u0001", "a:\n", "a\n  b\n c\n", "trailing \nspace \n", "0", "00", "08",
	"1:2", "::", ":", "::1", "[::1]:80", "http://a:80/b#c", "a: ", "- ", "null ", "NaN", "Infinity", "0x", "0_1",
	"+.5", "-.5e-3", "1__2", "٣", "% a", "a'b\"c", "\u2028", "\ufffd", strings.Repeat("long words ", 30),
	strings.Repeat("x", 300), strings.Repeat("line\n", 20), "\u00e9\n\u00e8\n",
}

func (m *maker) one(choices ...string) string { return choices[m.Intn(len(choices))] }
func (m *maker) sometimes(n int) bool         { return m.Intn(n) == 0 }

// text returns an odd text, or some joined.
func (m *maker) text() string {
	text := odd[m.Intn(len(odd))]
	for m.sometimes(4) {
		text += m.one("", " ", "\n", ":", "#", "\t", " #", ": ", "\n\n", "\n  ") + odd[m.Intn(len(odd))]
	}
	return text
}

func (m *maker) quoted(text string) string {
	out, _ := json.Marshal(text)
	if m.rare {
		return string(out)
	}
	return escapes.Replace(string(out))
}

var escapes = strings.NewReplacer("\u0085", `\N`, "\ufeff", `\ufeff`, "\x7f", `\x7f`)

// refusable tells of a text that inject may refuse where it stands as it is.
func refusable(text string, inFlow, isPlain bool) bool {
	if strings.ContainsAny(text, "\r\u0085\u2028\u2029\ufeff") {
		return true
	}
	if !isPlain {
		return false
	}
	word := strings.TrimSpace(text)
	if strings.HasPrefix(word, "&") || strings.HasPrefix(word, "!") || strings.HasPrefix(word, "*") {
		return true
	}
	if inFlow && (strings.ContainsAny(word, ",?!&*#") || strings.Trim(word, ":") != word) {
		return true
	}
	return infinite.MatchString(word)
}

var infinite = regexp.MustCompile(`(?i)^(- )*[-+]?\.(inf|nan)\s*(:|#|$)`)

func single(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// A block scalar at this indentation, with every indicator; it may mean another text than it was
// made of, which is the point.
func (m *maker) block(text string, indent int) string {
	head := m.one("|", ">", "|", "|-", "|+", ">-", "|2", "|2-", "|2+", "|-2", ">2", "|1", "| # c")
	width := 2
	if strings.Contains(head, "1") {
		width = 1
	}
	margin := strings.Repeat(" ", indent+width)
	var out strings.Builder
	out.WriteString(head)
	for _, line := range strings.Split(text, "\n") {
		out.WriteString("\n")
		if line != "" || m.sometimes(3) {
			out.WriteString(margin + line)
		}
	}
	return out.String()
}

func (m *maker) blockText(indent int) string {
	text := m.text()
	if !m.rare && refusable(text, false, false) {
		return m.quoted(text)
	}
	return m.block(text, indent)
}

// property returns an anchor, a tag, both or none.
func (m *maker) property() string {
	text := ""
	one := 20
	if m.rare {
		one = 5
	}
	if m.sometimes(one) {
		text = m.one("!!str ", "! ")
		if m.rare {
			text = m.one("!!int ", "!!float ", "!!bool ", "!!null ", "!!str ")
		}
	}
	if m.sometimes(one) {
		m.anchors++
		text += fmt.Sprintf("&a%d ", m.anchors)
	}
	return text
}

// scalar returns one in some style. An indentation of -1 means within a flow collection.
func (m *maker) scalar(indent int, isItem bool) string {
	if m.anchors > 0 && m.sometimes(20) {
		return fmt.Sprintf("*a%d ", 1+m.Intn(m.anchors))
	}
	before := m.anchors
	property := m.property()
	text := m.content(indent)
	if !m.rare && isItem && strings.Contains(text, "\n") {
		m.anchors = before
		return text
	}
	return property + text
}

func (m *maker) content(indent int) string {
	text := m.text()
	if !m.rare && refusable(text, indent < 0, false) {
		return m.quoted(text)
	}
	switch m.Intn(6) {
	case 0:
		return single(text)
	case 1:
		return m.quoted(text)
	case 2:
		if indent >= 0 {
			return m.block(text, indent)
		}
	case 3:
		// Folded over lines.
		if indent >= 0 {
			margin := "\n" + strings.Repeat(" ", indent+2)
			return m.one(`"`+`a\`+margin+`\ b`+margin+margin+`c"`, "'a"+margin+"b '", "a"+margin+"b"+margin+"c",
				`"\x41\u00e9\N\_\L\P\e\/\0"`, `" a `+margin+` b "`, "'"+margin+"\n  \n"+margin+"a'")
		}
	case 4:
		if !m.rare && m.sometimes(20) && indent >= 0 {
			return m.one("!!int 12", "!!float 1.5", "!!bool yes", "!!null ~", "!!int '7'", "!!str")
		}
	}
	if strings.Contains(text, "\n") || strings.Contains(text, "\r") || (!m.rare && refusable(text, indent < 0, true)) {
		return m.quoted(text)
	}
	return text
}

func (m *maker) key() string {
	return m.one("yes", "1e3", "0x1F", "true", `"no"`, "'~'", ":a", "a b", "<", "1.50", "-1", `"a: b"`, "on", "é",
		`"a\nb"`, "? k", "http://x", "0777", "'<<'", `""`, `" "`, "a#b", "y", "1_0") + m.one("", "", "x", "z1")
}

func (m *maker) flow(depth int) string {
	switch {
	case depth > 2 || m.sometimes(3):
		return m.scalar(-1, false)
	case m.sometimes(2):
		var items []string
		for i := m.Intn(4); i >= 0; i-- {
			items = append(items, m.flow(depth+1))
		}
		return "[" + strings.Join(items, m.one(",", ", ", " , ")) + m.one("", "", ",") + "]"
	}
	return "{" + m.one("a: ", "\"a\":", "? a : ", "yes: ") + m.flow(depth+1) + m.one("", ", b: c", ", d", ", 'e':f") + "}"
}

// value returns any value of a key or of an item at this indentation.
func (m *maker) value(indent, depth int, isItem bool) string {
	switch {
	case depth > 2 || m.Intn(5) < 3:
		return m.scalar(indent, isItem)
	case m.sometimes(3):
		return m.flow(0)
	}
	margin := "\n" + strings.Repeat(" ", indent+2)
	var out strings.Builder
	if m.sometimes(2) {
		for i := m.Intn(3); i >= 0; i-- {
			out.WriteString(margin + "- " + m.value(indent+2, depth+1, true))
		}
		return out.String()
	}
	for i := m.Intn(3); i >= 0; i-- {
		key := fmt.Sprintf("k%d", i)
		if m.sometimes(2) && (m.rare || i == 0) {
			key = m.key()
		}
		out.WriteString(margin + key + ": " + m.value(indent+2, depth+1, false))
		if m.sometimes(8) {
			out.WriteString("  # " + m.one("a comment", ":", "'"))
		}
	}
	return out.String()
}

// document returns a manifest. One in ten is of no pod, one in `rarely` is rare.
func (m *maker) document(first bool) string {
	m.anchors = 0
	m.rare = m.sometimes(rarely)
	lines := []string{m.one("---", "---", "---  ", "--- # a comment")}
	if first && m.sometimes(2) {
		lines = nil
	}
	if first && m.sometimes(8) {
		lines = []string{"\ufeff# a mark before"}
	}
	if m.sometimes(10) {
		lines = append(lines, "# a comment", "")
	}
	margin := ""
	kind := "Pod"
	switch m.Intn(10) {
	case 0:
		kind = "ConfigMap"
	case 1, 2, 3:
		kind = "Deployment"
	}
	lines = append(lines, m.one("apiVersion: ", `"apiVersion": `)+map[string]string{"Deployment": "apps/v1"}[kind])
	if kind != "Deployment" {
		lines[len(lines)-1] += "v1"
	}
	lines = append(lines, "kind: "+kind)
	if kind == "Deployment" {
		lines = append(lines, "spec:", "  replicas: "+m.one("1", "0x1", "1e0"), "  template:")
		margin = "    "
	}
	add := func(line string) { lines = append(lines, margin+line) }
	deep := len(margin)
	if kind == "Deployment" && m.sometimes(3) {
		lines = append(lines[:len(lines)-3], "x-labels: &all {a: b, \"on\": \"yes\"}", lines[len(lines)-3],
			lines[len(lines)-2], lines[len(lines)-1])
	}
	add("metadata:")
	add("  name: " + m.one("bob", "'0777'", `"yes"`))
	add("  labels: " + m.one("{oshinko-type: master}", "{\"oshinko-type\": \"master\", x: \"1\"}",
		"\n"+margin+"    oshinko-type: master"))
	if m.sometimes(2) {
		add("  annotations: " + m.one("", "~", "{}", "\n"+margin+"    text: "+m.quoted(m.text()),
			"{<<: {a: b}, c: "+m.quoted(m.text())+"}", "\n"+margin+"    t: "+m.blockText(deep+4)))
	}
	add("spec:")
	add("  containers:")
	add("  - name: m")
	for _, field := range []string{"args", "env", "command"} {
		add("    " + field + ": " + m.value(deep+4, 0, false))
	}
	if m.sometimes(3) {
		add("  " + m.one("volumes: ", "initContainers: ") + m.one("", "[]", "null", "[{name: v}]", "\n"+margin+"  - name: w"))
	}
	add("  rest: " + m.value(deep+2, 0, false))
	if m.sometimes(3) {
		lines = append(lines, "status: "+m.value(0, 0, false))
	}
	text := strings.Join(lines, "\n") + "\n"
	if m.sometimes(12) {
		text += "...\n"
	}
	if m.sometimes(15) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n", "\r\n")
	}
	// A line of dashes within a text would begin another document.
	return strings.ReplaceAll(text, "\n---", "\n --")
}
