get := func(path string, query url.Values, list any) {
	request, err := http.NewRequest("GET", "https://server.invalid"+path+"?"+query.Encode(), nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(list); err != nil || response.StatusCode > 299 {
		log.Fatal(response.Status, err)
	}
	fmt.Println(response.Status, path)
}

// The pages. Deliveries are the same below /webhooks/{webhook_id}/deliveries.
var pages struct {
	Data       []struct{ ID string }
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"`
}
for query := (url.Values{"limit": {"10"}}); ; query.Set("cursor", pages.NextCursor) {
	get("/pages", query, &pages)
	for _, page := range pages.Data {
		fmt.Println(page.ID)
	}
	if !pages.HasMore {
		break
	}
}

// The calls of a key. The operator's list of keys is the same.
for query := (url.Values{"limit": {"10"}}); ; {
	var calls struct {
		Calls  []struct{ RequestID string `json:"request_id"` }
		Cursor *string
	}
	get("/v1/usage/calls", query, &calls)
	for _, call := range calls.Calls {
		fmt.Println(call.RequestID)
	}
	if calls.Cursor == nil {
		break
	}
	query.Set("cursor", *calls.Cursor)
}

// The log of events. Keep NextAfter, and continue from there later.
var events struct {
	Data      []struct{ ID string }
	HasMore   bool `json:"has_more"`
	NextAfter int  `json:"next_after"`
}
for events.HasMore = true; events.HasMore; {
	get("/events", url.Values{"limit": {"10"}, "after": {strconv.Itoa(events.NextAfter)}}, &events)
	for _, event := range events.Data {
		fmt.Println(event.ID)
	}
}
