// A sidecar of Go's standard library alone. README.md tells what all peers do.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type deployment struct {
	Spec struct {
		Replicas *int32 `json:"replicas"`
	} `json:"spec"`
}

// Kubelets rotate tokens, so that a file is read again after a minute.
type token struct {
	file  string
	value string
	read  time.Time
}

func (t *token) get() (string, error) {
	if t.value == "" || time.Since(t.read) > time.Minute {
		content, err := os.ReadFile(t.file)
		if err != nil {
			return "", err
		}
		t.value, t.read = strings.TrimSpace(string(content)), time.Now()
	}
	return t.value, nil
}

// ask returns "active" or "gone", or an error where nothing is known.
func ask(client *http.Client, url string, bearer *token) (string, error) {
	value, err := bearer.get()
	if err != nil {
		return "", err
	}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+value)
	request.Header.Set("Accept", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	// Read to the end, so that the connection is used again.
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return "gone", nil
	case http.StatusOK:
		var owner deployment
		if err := json.Unmarshal(body, &owner); err != nil {
			return "", err
		}
		if owner.Spec.Replicas != nil && *owner.Spec.Replicas == 0 {
			return "gone", nil
		}
		return "active", nil
	}
	return "", fmt.Errorf("%s answers %s", url, answer.Status)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println("1")
		return
	}
	server := flag.String("server", "", "")
	ca := flag.String("ca", "", "")
	tokenFile := flag.String("token-file", "", "")
	namespace := flag.String("namespace", "", "")
	name := flag.String("deployment", "", "")
	interval := flag.Duration("interval", 5*time.Second, "")
	flag.Parse()

	roots := x509.NewCertPool()
	if pem, err := os.ReadFile(*ca); err != nil {
		fail(err)
	} else if !roots.AppendCertsFromPEM(pem) {
		fail(fmt.Errorf("%s has no certificate", *ca))
	}
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
	}
	// The API server may answer from its cache.
	url := fmt.Sprintf("%s/apis/apps/v1/namespaces/%s/deployments/%s?resourceVersion=0", *server, *namespace, *name)
	bearer := &token{file: *tokenFile}

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	ticker := time.NewTicker(*interval)
	last, polls := "", 0
	for {
		verdict, err := ask(client, url, bearer)
		polls++
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		} else if verdict != last {
			fmt.Println("verdict: " + verdict)
			last = verdict
		}
		for waiting := true; waiting; {
			select {
			case <-ticker.C:
				waiting = false
			case <-asked:
				fmt.Printf("polls: %d\n", polls)
			}
		}
	}
}
