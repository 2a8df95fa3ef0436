// go get github.com/standard-webhooks/standard-webhooks/libraries
body := `{"upsert":[],"delete":["sku-3"]}`
now := time.Now()
id := fmt.Sprintf("msg_%d", now.UnixNano())
webhook, err := standardwebhooks.NewWebhook(os.Getenv("PUSH_SECRET"))
if err != nil {
	log.Fatal(err)
}
signature, err := webhook.Sign(id, now, []byte(body))
if err != nil {
	log.Fatal(err)
}
url := "https://server.invalid/hooks/products/" + os.Getenv("SOURCE")
request, err := http.NewRequest("POST", url, strings.NewReader(body))
if err != nil {
	log.Fatal(err)
}
request.Header.Set("Content-Type", "application/json")
request.Header.Set("webhook-id", id)
request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
request.Header.Set("webhook-signature", signature)
response, err := http.DefaultClient.Do(request)
if err != nil {
	log.Fatal(err)
}
defer response.Body.Close()
fmt.Println(response.Status)
