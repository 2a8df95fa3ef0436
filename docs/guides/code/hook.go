call := func(method, path, body string) map[string]any {
	request, err := http.NewRequest(method, "https://server.invalid"+path, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("KEY"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode > 299 {
		log.Fatal(response.Status, answer, err)
	}
	fmt.Println(response.Status, answer)
	return answer
}

webhook := call("POST", "/webhooks", `{"url": "https://hooks.example.com/biolink", "events": ["click", "page_view"]}`)
id := webhook["id"].(string) // webhook["secret"] verifies what comes
call("POST", "/webhooks/"+id+"/test", `{"type": "click"}`)
call("GET", "/webhooks/"+id+"/deliveries", "")
