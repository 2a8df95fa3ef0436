// Receives webhooks with the standard library alone: WEBHOOK_SECRET=whsec_… PORT=8790 go run .
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type message struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Events []json.RawMessage `json:"events"`
	} `json:"data"`
}

type receiver struct {
	secret []byte
	lock   sync.Mutex
	seen   map[string]bool // In production: a unique index in your database.
}

// verify checks the signature and that it is at most five minutes old. During a rotation there are several.
func (r *receiver) verify(body []byte, header http.Header) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return errors.New("the timestamp is missing or too old")
	}
	mac := hmac.New(sha256.New, r.secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		version, text, _ := strings.Cut(signature, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature matches")
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	if err == nil {
		// The signature covers the bytes as they came, so nothing parses the body before this.
		err = r.verify(body, req.Header)
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
	text, isSecret := strings.CutPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !isSecret {
		log.Fatal("WEBHOOK_SECRET is not whsec_ and base64")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8790"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, &receiver{secret: secret, seen: map[string]bool{}}))
}
