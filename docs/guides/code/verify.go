// go get github.com/standard-webhooks/standard-webhooks/libraries
webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
if err != nil {
	log.Fatal(err)
}
// `body` has the bytes as they came.
err = webhook.Verify(body, request.Header)
