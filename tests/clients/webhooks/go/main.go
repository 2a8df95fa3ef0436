// Receives webhooks: WEBHOOK_SECRET=whsec_… PORT=8790 go run .
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type message struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Events []json.RawMessage `json:"events"`
	} `json:"data"`
}

type receiver struct {
	webhook *standardwebhooks.Webhook
	lock    sync.Mutex
	seen    map[string]bool // In production: a unique index in your database.
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	if err == nil {
		// The signature covers the bytes as they came, so nothing parses the body before this.
		err = r.webhook.Verify(body, req.Header)
	}
	var got message
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil {
		http.Error(w, "refused: "+err.Error(), http.StatusBadRequest)
		return
	}
	events := got.Data.Events
	if got.Type != "batch" {
		events = []json.RawMessage{body}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, event := range events {
		var one message
		// A single event's id is the `webhook-id`. A retry repeats it.
		if json.Unmarshal(event, &one) == nil && !r.seen[one.ID] {
			r.seen[one.ID] = true
			fmt.Println(string(event)) // In production: store it, and work on it after the response.
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8790"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, &receiver{webhook: webhook, seen: map[string]bool{}}))
}
