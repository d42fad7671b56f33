// Compares what cluster-watcher and kubectl make of the kubeconfigs in cases.go: each sends a request
// to a server of the test, which shows the server, the user and the namespace that it took.
//
//	compare KUBECTL PROGRAM
//
// The last line is "N passed, N failed"; the exit code is 1 if any failed.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A lab has servers of its own, so that several cases may be tried at once.
type lab struct {
	kubectl, program string
	dir              string
	words            *strings.Replacer // what stands in kubeconfigs for addresses and certificates
	servers          []*httptest.Server
	mutex            sync.Mutex
	seen             []string
}

var namespaced = regexp.MustCompile(`^(.*)/api/v1/namespaces/([^/]*)`)

func (l *lab) see(what string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.seen = append(l.seen, what)
}

func (l *lab) serve(name string, writer http.ResponseWriter, request *http.Request) {
	user, certificate := request.Header.Get("Authorization"), ""
	if request.TLS != nil && len(request.TLS.PeerCertificates) > 0 {
		certificate = request.TLS.PeerCertificates[0].Subject.CommonName
	}
	base, ns := request.URL.Path, ""
	if found := namespaced.FindStringSubmatch(request.URL.Path); found != nil {
		base, ns = found[1], found[2]
	}
	l.see(fmt.Sprintf("server %s%q as %s, user %q for %q of %q, certificate %q, namespace %q", name, base,
		request.Host, user, request.Header["Impersonate-User"], request.Header["Impersonate-Group"], certificate, ns))
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(http.StatusNotFound)
	io.WriteString(writer, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
}

// proxy passes a connection on.
func (l *lab) proxy(writer http.ResponseWriter, request *http.Request) {
	l.see("proxy")
	there, err := net.Dial("tcp", request.Host)
	if err != nil || request.Method != http.MethodConnect {
		writer.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := writer.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(there, here); there.Close() }()
	go func() { io.Copy(here, there); here.Close() }()
}

func inPem(kind string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

// clientCertificate returns one, and its key, in PEM.
func clientCertificate() (string, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "alice"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	return inPem("CERTIFICATE", certificate), inPem("PRIVATE KEY", encoded)
}

func newLab(kubectl, program, dir string) *lab {
	l := &lab{kubectl: kubectl, program: program, dir: dir}
	for _, name := range []string{"one", "other"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(
			func(writer http.ResponseWriter, request *http.Request) { l.serve(name, writer, request) }))
		server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		l.servers = append(l.servers, server)
	}
	plain := httptest.NewServer(http.HandlerFunc(
		func(writer http.ResponseWriter, request *http.Request) { l.serve("plain", writer, request) }))
	proxy := httptest.NewServer(http.HandlerFunc(l.proxy))
	l.servers = append(l.servers, plain, proxy)
	ca := inPem("CERTIFICATE", l.servers[0].Certificate().Raw)
	certificate, key := clientCertificate()
	in64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	l.words = strings.NewReplacer("$URL", l.servers[0].URL, "$OTHER", l.servers[1].URL, "$PLAIN", plain.URL,
		"$HOST", strings.TrimPrefix(l.servers[0].URL, "https://"), "$PROXY", proxy.URL, "$CADATA", in64(ca), "$CA", ca,
		"$CERTDATA", in64(certificate), "$CERTJSON", fmt.Sprintf("%q", certificate),
		"$CERT", certificate, "$KEYDATA", in64(key), "$KEYJSON", fmt.Sprintf("%q", key), "$KEY", key)
	return l
}

// run returns what the servers saw of it, and what it said.
func (l *lab) run(c testCase, dir string, command ...string) (string, string) {
	l.seen = nil
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, argument := range c.arguments {
		command = append(command, l.words.Replace(argument))
	}
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Dir = dir
	program.Env = append([]string{"HOME=" + dir, "KUBERC=off", "KUBECACHEDIR=" + dir + "/cache", "GOGC=off",
		"PATH=" + dir + "/bin:/usr/bin:/bin"}, c.environment...)
	if len(c.arguments) == 0 && len(c.environment) == 0 {
		program.Env = append(program.Env, "KUBECONFIG=config")
	}
	var said bytes.Buffer
	program.Stdout, program.Stderr = &said, &said
	if err := program.Run(); err == nil {
		return "", "it ended well, though nothing was there"
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.seen, "; "), said.String()
}

// try returns what is wrong; "" if nothing is.
func (l *lab) try(c testCase, number int) string {
	dir := filepath.Join(l.dir, fmt.Sprint(number))
	for name, text := range c.files {
		file := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(file), 0o700))
		must(os.WriteFile(file, []byte(l.words.Replace(text)), 0o700))
	}
	must(os.MkdirAll(filepath.Join(dir, "elsewhere/deep"), 0o700))
	must(os.Symlink("elsewhere/deep", filepath.Join(dir, "link")))
	theirs, theirWords := l.run(c, dir, l.kubectl, "create", "token", "x")
	ours, ourWords := l.run(c, dir, l.program, "hold", "--namespace-wide")
	what := fmt.Sprintf("\n  kubectl: %s\n    %s  we: %s\n    %s", theirs, theirWords, ours, ourWords)
	switch {
	case c.refusal == "" && theirs == "":
		return "kubectl takes it no longer" + what
	case c.refusal == "" && ours != theirs:
		return "it isn't what kubectl takes" + what
	case c.refusal != "" && ours != "":
		return "it is not refused" + what
	case c.refusal != "" && !strings.Contains(ourWords, c.refusal):
		return fmt.Sprintf("the refusal doesn't say %q", c.refusal) + what
	case c.refusal != "" && (theirs != "") != c.isStricter:
		return "kubectl refuses it, or no longer does" + what
	}
	return ""
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compare KUBECTL PROGRAM")
		os.Exit(2)
	}
	dir, err := os.MkdirTemp("", "kubeconfigs")
	must(err)
	cases := allCases()
	results := make([]string, len(cases))
	numbers := make(chan int)
	var working sync.WaitGroup
	for range 4 {
		l := newLab(os.Args[1], os.Args[2], dir)
		working.Go(func() {
			for number := range numbers {
				results[number] = l.try(cases[number], number)
			}
		})
	}
	for number := range cases {
		numbers <- number
	}
	close(numbers)
	working.Wait()
	must(os.RemoveAll(dir))
	failed := 0
	for number, result := range results {
		if result == "" {
			continue
		}
		failed++
		fmt.Printf("not ok - %s: %s\n", cases[number].name, result)
	}
	fmt.Printf("%d passed, %d failed\n", len(cases)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
