// Package standardwebhooks declares what the examples in Go use of the library of this name, version 0.0.1, so that they
// compile without a network.
package standardwebhooks

import (
	"errors"
	"net/http"
	"time"
)

var errDeclared = errors.New("standardwebhooks: declared only")

// Webhook signs and verifies messages.
type Webhook struct{}

// NewWebhook takes the secret of an endpoint.
func NewWebhook(secret string) (*Webhook, error) { return nil, errDeclared }

// Verify checks the signature of a message.
func (*Webhook) Verify(payload []byte, headers http.Header) error { return errDeclared }

// Sign returns the signature of a message.
func (*Webhook) Sign(msgID string, timestamp time.Time, payload []byte) (string, error) {
	return "", errDeclared
}
