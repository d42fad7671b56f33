// A sidecar with client-go's typed clientset. README.md tells what all peers do.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"
)

// ask returns "active" or "gone", or an error where nothing is known.
func ask(deployments appsv1.DeploymentInterface, name string) (string, error) {
	// The API server may answer from its cache.
	owner, err := deployments.Get(context.Background(), name, metav1.GetOptions{ResourceVersion: "0"})
	if errors.IsNotFound(err) {
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	if owner.Spec.Replicas != nil && *owner.Spec.Replicas == 0 {
		return "gone", nil
	}
	return "active", nil
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

	clientset, err := kubernetes.NewForConfig(&rest.Config{
		Host:            *server,
		BearerTokenFile: *tokenFile,
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
		Timeout:         10 * time.Second,
		QPS:             -1, // the interval limits it
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	deployments := clientset.AppsV1().Deployments(*namespace)

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	ticker := time.NewTicker(*interval)
	last, polls := "", 0
	for {
		verdict, err := ask(deployments, *name)
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
